"""Frequent function words of twelve languages, keyed by Snowball's name, for detecting a text's language. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LANGUAGES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset(text.split())
        for name, text in {
            "english": "the of and to in is that for it with as was on are be this by at from have or an not which you can "
            "how what why",
            "german": "der die das und ist nicht ein eine zu den mit von auf für im dem des sich auch es wie was wird werden "
            "oder bei kann man warum in am an als aus nach über um beim zum zur durch einen einem eines einer sind sie ihr haben "
            "hat wenn aber nur noch welche welcher welches welchen wer wo wann viele ohne unter zwischen dass damit kein keine "
            "diese dieser dieses vom vor seit bis gegen",
            "french": "le la les et est un une des du pas que qui dans pour sur avec ce par au aux sont ne comment "
            "pourquoi ou quel quelle",
            "spanish": "el la los las y es un una de del que en por con para no se al como son más qué cómo su cuál",
            "italian": "il lo la gli le e è un una di del della che in per con non si come sono più quale perché nel",
            "portuguese": "o os as e é um uma de do da dos das que em por com para não se como são mais ao qual na no",
            "dutch": "de het een en is van dat niet in op te voor met zijn aan er ook hoe wat waarom kan worden of",
            "swedish": "och att det som en är på för av med inte den till har om ett hur vad kan eller",
            "danish": "og at det som en er på for af med ikke den til har om et hvordan hvad kan eller",
            "norwegian": "og at det som en er på for av med ikke den til har om et hvordan hva kan eller",
            "finnish": "ja on ei että se joka ovat kuin mutta tai myös hän oli miten mikä voi",
            "russian": "и в не на что это с как по для из к а от он но или так же где почему",
        }.items()
    }
)
