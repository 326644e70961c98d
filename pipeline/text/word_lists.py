"""Word lists for sentence splitting and for questions. Data only."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words with which questions are asked: a passage need not contain them to answer.
QUESTION_WORDS = _words(
    """
    a an the this that these those there here it its they them their he she his her him i me my mine we us our you your yours
    what which who whom whose where when why how whether if then else
    than as of in on at to from by with without for about into onto
    over under between among across through during before after until
    till since per via and or but nor not no yes so such only just
    also too very really actually exactly ever even still yet already again once some any each every either neither both all
    most more less least many much few several other another same own
    is are was were be been being am do does did doing done have has had having can could may might must shall should will would
    ought cannot isn aren wasn weren don doesn didn haven hasn hadn can't
    won wouldn shouldn couldn don't doesn't didn't isn't aren't wasn't
    please tell explain describe say says said mean means meant happen happens happened
    get gets got let lets want wants wanted need needs like someone somebody
    anyone anybody something anything nothing everything one ones
    thing things way ways kind sort lot bit there's what's it's i'm i've up out off down away back because though although while
    """
)

# Verbs and nouns of little meaning: they count half.
LIGHT_WORDS = _words(
    """
    use uses used using make makes made making work works worked working
    go goes went going come comes give gives given take takes taken
    put puts set sets keep keeps kept know find finds found look looks
    show shows see try tries tried turn start starts started stop
    stops run runs running change changes changed add adds added create
    creates created allow allows allowed cause causes caused support
    supports supported provide handle handles call called good best better
    bad safe safely able available possible difference different
    default defaults value values number long often big large small new
    old first last correct right wrong proper properly normal normally
    problem problems question reason example list part type types name called point time times currently simply easy fast quickly
    important main usual usually typical typically general specific certain common exist exists become becomes behave behaves
    prevent avoid help compare compared versus vs effect effects purpose maximum minimum limit limits
    unterschied unterschiede unterscheiden unterscheidet vergleich
    """
)

# A sentence that begins with one of these refers to the sentence before it.
POINTING_BACK = _words(
    """
    this that these those it its they them their he she his her such both either neither however therefore thus hence so
    then also otherwise instead moreover furthermore additionally but and or nor yet still consequently similarly likewise
    conversely meanwhile nevertheless nonetheless here there again finally secondly thirdly another
    """
)

# A dot after one of these ends no sentence.
ABBREVIATIONS = _words(
    """
    e.g i.e cf vs viz dr mr mrs ms prof rev gen sen rep hon st jr sr fig figs eq eqs sec secs ch chap vol vols no nos p pp
    par art ed eds al approx ca c resp incl excl dept univ assn bros inc ltd co corp ph.d m.sc b.sc u.s.a jan feb mar apr
    jun jul aug sep sept oct nov dec
    """
)

# … except when a sentence clearly begins after it.
# German nouns that stand behind ordinal numbers.
COUNTED = _words(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts jahrtausend
    jahrtausends jahrzehnt jahrzehnts jahr jahres jahre lebensjahr lebensjahres schuljahr geburtstag geburtstages jahrestag monat
    monats woche stunde minute mal auflage ausgabe kapitel abschnitt absatz klasse stock stockwerk etage platz runde bundesliga
    liga weltkrieg weltkriegs weltkrieges grades ordnung sinfonie preis
    """
)
SOFT_ABBREVIATIONS = _words(
    """
    inc ltd co corp jr sr u.s u.k u.n e.u a.m p.m etc ph.d u.s.a al
    """
)

SENTENCE_STARTERS = _words(
    """
    the a an this that these those it they we you he she i in on at for if when while as however but and or there here its
    their our his her to from with by after before since because although though where what which who why how no not some
    many most all both each every any one two new use using see return returns note changed deprecated
    """
)

# What a question begins with that takes more than one passage to answer, in six languages; of 27 such questions 23 begin so, or
# consist of several, and of 154 others 13.
BROAD_BEGINNINGS = (
    "how do", "how does", "how did", "how can", "how could", "how should", "how would", "how to", "what are", "what can",
    "what could", "what should", "what makes", "what ways", "what happens", "which ways", "explain", "describe", "compare",
    "summarise", "summarize",
    "wie funktioniert", "wie kann", "wie können", "wie soll", "wie sollte", "wie macht", "wie mache", "wie richte",
    "was kann", "was soll", "was sollte", "was muss", "welche möglichkeiten", "erkläre", "beschreibe", "vergleiche",
    "comment", "quels sont", "quelles sont", "que faire", "expliquez", "décrivez", "comparez",
    "cómo", "cuáles son", "qué puedo", "qué debo", "explica", "describe", "compara",
)  # fmt: skip
BROAD_SIGNS = ("如何", "怎么", "怎样", "哪些", "比较", "解释", "どのように", "どうすれば", "方法", "比較", "説明")
