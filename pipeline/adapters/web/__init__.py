"""Pages of the open web: fetched politely behind the guard, their text taken out in a process that can be killed."""
