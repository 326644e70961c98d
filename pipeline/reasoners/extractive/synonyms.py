"""Groups of everyday and technical words that stand for each other in questions and answers. Data, and its look-up by stem."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pipeline.terms import needs, stem

_GROUPS = """
    delete remove erase unlink discard drop
    create make build generate construct
    error exception failure fault
    fail crash break abort
    wait block timeout delay
    begin start launch open
    end stop finish terminate close exit
    fast quick speed performance
    slow latency delay
    change modify update alter edit
    copy duplicate clone
    random randomness entropy
    secure safe security trusted
    dangerous unsafe insecure harmful risk vulnerable
    store save persist write
    load read restore fetch
    show display print output
    search find lookup match
    size length bytes
    limit maximum bound cap
    minimum least lowest
    biggest largest maximum greatest
    smallest minimum least
    folder directory
    picture image
    folder directory path
    replace overwrite substitute
    rename move
    join merge combine concatenate
    split divide separate partition
    sort order ordering
    order sequence
    parse decode interpret
    serialize dump encode marshal
    convert transform cast coerce
    compare equality equal
    check verify validate test
    allow permit enable
    forbid prevent disallow prohibit
    stop prevent avoid
    disable off
    default unspecified omitted
    argument parameter option
    setting configuration option
    function method callable routine
    list array sequence
    dictionary mapping dict
    key name identifier
    duplicate repeated twice
    missing absent nonexistent
    empty zero blank
    guess infer detect
    thread worker concurrency
    parallel concurrent simultaneous
    process program subprocess
    memory ram cache
    disk storage drive
    power outage blackout
    crash failure outage
    durable persistent permanent
    atomic indivisible
    lock mutex exclusive
    cancel interrupt abort
    retry repeat again
    old legacy deprecated obsolete
    new added introduced
    added introduced new
    removed dropped deprecated
    version release
    cost price expense
    text string characters
    digits precision decimals
    count number amount
    precision accuracy exact
    rounding round
    password secret credential
    hash digest checksum
    encrypt cipher encryption
    compress zip archive
    network socket connection
    listen bind serve
    send transmit write
    receive read
    clock time timestamp
    date day calendar
    log journal record
    link reference hyperlink
    note document page
    quote citation cite
    citation reference source
    rank relevance score
    query question search
    rebuild regenerate recreate
    incremental partial
    benefit advantage
    drawback disadvantage limitation caveat
    reason cause purpose
    choose select pick
    recommend advise suggest prefer
    require need must mandatory
    inherit subclass derive
    iterate loop
    lines rows
    clean purge clear
    signal interrupt
    nested recursive recursion depth
    ignore skip
    raise throw
    warn warning
    arrive receive
    give return yield
    guarantee ensure promise
    share common shared
    hint annotation
    check enforce verify
    runtime run execution execute
    cycle circle loop circular
    pick choose select
    wait block sleep
    fold wrap
    ready cached preallocated
    internal implementation implemented
    install setup deploy
    ask request query
    refuse reject deny
    accept take allow
    belong owner own
    leave exit quit
    arrival added introduced
    arrive added introduced
    useless ineffective
    whole entire complete
    kill terminate
    inside within internal
    guarantee promise
    precise accurate
    wrong incorrect invalid
    right correct valid
    unlocked released
    release free
    hold acquire own
    case lowercase uppercase
    notify alert inform
    encoding charset codec
    connection connect socket
    reach arrive
    become turn
    slow long
    time duration seconds
    often frequency times number
    quote escape
    newline linebreak
    platform windows linux macos unix
    unusual special
    equal equality compare
    corrupt damage corruption
    lose loss lost
    flush sync synchronize
"""


def _by_stem() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in _GROUPS.strip().splitlines():
        group = line.split()
        for word in group:
            found.setdefault(stem(word), []).extend(other for other in group if stem(other) != stem(word))
    return MappingProxyType({key: tuple(dict.fromkeys(words)) for key, words in found.items()})


_OTHERS = _by_stem()


def others(term: str) -> tuple[str, ...]:
    """Return the words that may stand for a stem, as written; none when there are none."""
    return _OTHERS.get(term, ())


def relatives(question: str) -> Mapping[str, tuple[str, ...]]:
    """Return for each term of ``question`` the stems that may stand for it, those asked for themselves left out."""
    wanted = needs(question)
    return {term: tuple(form for word in others(term) if (form := stem(word)) not in wanted) for term in wanted if others(term)}
