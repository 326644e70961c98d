"""Word lists of English that the statistics lean on. Data only."""

from __future__ import annotations


def word_list(text: str) -> frozenset[str]:
    """Return the words of ``text``, which are parted by white space."""
    return frozenset(text.split())


# Carry no subject of their own: never counted, never searched for.
STOP = word_list(
    """
    a about above after again against all also although am among an and another any anyone anything are aren't as at be
    because been before being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
    don't done down during each either else etc ever every few for from further get gets got had has hasn't have haven't
    having he her here hers him his how however i if in indeed instead into is isn't it it's its itself just least less
    let like may maybe me might mine more most much must my neither no nor not now of off on once one ones only onto or
    other others otherwise our ours out over own per perhaps please quite rather really same say says shall she should
    shouldn't since so some someone something still such than that that's the their theirs them then there there's
    therefore these they this those though through thus to too toward towards under unless until up upon us very via was
    wasn't we well were weren't what what's whatever when whenever where whereas whether which while who whom whose why
    will with within without won't would wouldn't yes yet you your yours does're isn don doesn didn aren't wouldn tell
    explain describe mean means meant happen happens many long often far someone's actually basically simply told
    myself yourself himself herself ourselves themselves nobody somebody everybody nothing everything everyone
    """
)

# Count, but tell little apart.
COMMON = word_list(
    """
    able add added allow allowed allows apply available based basic call called calls case cases change changed changes
    common consider contain contains correct create created current default different do easy effect end ensure example
    exist existing exists fact find first follow following follows form found full general give given gives good group
    hold important include includes including information item items keep kept kind know known large last later left line
    lines list look made main make makes making need needed needs new next note number numbers object objects open order
    original part particular parts people place point possible problem provide provided provides purpose put read reason
    reasons require required requires result results return returned returns right run running runs second see seen set
    sets show shows simple single small special specific specified standard start state step support supported supports
    system take taken takes thing things time times try type types usage use used useful user uses using value values
    version want way ways whole word words work works write
    """
)

# Verbs that end a noun phrase when a phrase is cut from running text.
VERBS = word_list(
    """
    install installs distribute distributes load loads watch expect deal care
    accept accepts add adds affect affects allow allows apply applies ask asks avoid avoids become becomes begin begins
    break breaks bring brings build builds call called calls cause causes change changed changes check checks choose
    compare compared compares contain contains control controls cost costs create created creates decide decides define
    defined defines delete deletes depend depends detect detects determine determines differ differs enable enables ensure
    ensures exist exists explain fail fails find finds fix follow follows give gives given go goes guarantee guarantees
    handle handles happen happens help helps improve improves include includes increase increases keep keeps kept know
    known lead leads let lets lose loses lost make makes made matter matters mean means measure need needed needs offer
    offers perform performs prevent prevents produce produces protect protects provide provided provides put raise raised
    raises reach read reads recover recovers reduce reduces remain remains remove removes replace replaces require
    required requires resolve return returned returns run runs say says see seem seems send sends serve serves set sets
    show shows solve solves specify start starts stay stays stop stops store stores suffer support supports survive
    survives take takes taken tell tells treat try turn turns understand use used uses using wait waits want wants work
    works write writes written
    """
)

AUXILIARIES = word_list(
    """
    is are was were be been has have had can could must shall should will would may might does do did
    """
)

# A sentence that opens with one of these leans on the sentence before it.
LEANING = word_list(
    """
    this that these those it its they them their he she his her such both either neither however therefore thus hence so
    then also otherwise instead moreover furthermore additionally but and or nor yet still consequently similarly likewise
    conversely meanwhile nevertheless nonetheless here there again finally secondly thirdly another
    """
)

# A dot after one of these ends no sentence.
ABBREVIATIONS = word_list(
    """
    e.g i.e cf vs viz dr mr mrs ms prof rev gen sen rep hon st jr sr fig figs eq eqs sec secs ch chap vol vols no nos p pp
    par art ed eds al approx ca c resp incl excl dept univ assn bros inc ltd co corp ph.d m.sc b.sc u.s.a jan feb mar apr
    jun jul aug sep sept oct nov dec
    """
)
# … except when a sentence clearly begins after it.
SOFT_ABBREVIATIONS = word_list(
    """
    inc ltd co corp jr sr u.s u.k u.n e.u a.m p.m etc ph.d u.s.a al
    """
)

STARTERS = word_list(
    """
    the a an this that these those it they we you he she i in on at for if when while as however but and or there here its
    their our his her to from with by after before since because although though where what which who why how no not some
    many most all both each every any one two new use using see return returns note changed deprecated
    """
)

NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100,
    "thousand": 1000, "half": 0.5, "once": 1, "twice": 2,
}  # fmt: skip

NEGATIONS = word_list(
    """
    not no never none cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't couldn't
    hasn't haven't without neither nor nothing nobody nowhere hardly
    """
)

# Stems of words that say the opposite of each other.
ANTONYMS = (
    ("required", "optional"), ("mandatory", "optional"), ("safe", "unsafe"), ("increases", "decreases"),
    ("enabled", "disabled"), ("allowed", "forbidden"), ("allowed", "prohibited"), ("faster", "slower"),
    ("mutable", "immutable"), ("ordered", "unordered"), ("possible", "impossible"), ("atomic", "nonatomic"),
    ("synchronous", "asynchronous"), ("blocking", "nonblocking"), ("higher", "lower"), ("larger", "smaller"),
    ("better", "worse"), ("true", "false"), ("sufficient", "insufficient"), ("reliable", "unreliable"),
    ("supported", "unsupported"), ("durable", "volatile"), ("lossy", "lossless"), ("case-sensitive", "case-insensitive"),
    ("survives", "loses"), ("recommended", "discouraged"), ("necessary", "unnecessary"), ("helps", "hurts"),
    ("improves", "worsens"), ("raises", "lowers"), ("ascending", "descending"), ("inclusive", "exclusive"),
    ("stable", "unstable"), ("free", "paid"), ("present", "absent"), ("cheap", "expensive"),
)  # fmt: skip

# Forms that no rule of endings brings together.
IRREGULAR = {
    "using": "use", "used": "use", "ran": "run", "wrote": "write", "written": "write", "lost": "lose", "kept": "keep",
    "made": "make", "built": "build", "broke": "break", "broken": "break", "chose": "choose", "chosen": "choose",
    "gave": "give", "given": "give", "held": "hold", "knew": "know", "known": "know", "left": "leave", "led": "lead",
    "meant": "mean", "sent": "send", "spent": "spend", "stood": "stand", "took": "take", "taken": "take", "thrown": "throw",
    "threw": "throw", "found": "find", "got": "get", "died": "die", "dies": "die", "tied": "tie", "ties": "tie",
    "children": "child", "indices": "index", "indexes": "index", "matrices": "matrix", "data": "data",
    "criteria": "criterion", "analyses": "analysis", "seen": "see", "saw": "see", "went": "go", "gone": "go",
    "began": "begin", "begun": "begin", "came": "come", "fell": "fall", "grew": "grow", "grown": "grow", "hidden": "hide",
    "hid": "hide", "shown": "show", "thought": "think", "understood": "understand", "won": "win", "better": "good",
    "best": "good", "worse": "bad", "worst": "bad",
}  # fmt: skip
