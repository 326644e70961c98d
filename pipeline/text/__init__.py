"""Operations on plain text: cleaning, stemming, sentences, times, redaction, ranking. Nothing here reads or writes a file."""
