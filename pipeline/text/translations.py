"""The fixed words of notes and their pages, with counts and dates, in the languages that most questions are asked in.

``TABLE`` has one line a label: English, German, French, Spanish, Chinese, Japanese. A noun that is counted has its singular and
its plural on both sides of a ``/`` where they differ. What is not in the table, and every other language, is in English.
"""

from __future__ import annotations

from functools import cache

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "fr", "es", "zh", "ja")
RIGHT_TO_LEFT = ("ar", "he")
TABLE = """
In short | Kurz gefasst | En bref | En resumen | 简要回答 | 要点
Contents | Inhalt | Sommaire | Contenido | 目录 | 目次
References | Quellenverzeichnis | Références | Referencias | 参考来源 | 参考資料
Not found | Nicht gefunden | Non trouvé | No encontrado | 未找到 | 見つかりませんでした
The passages that come nearest. No model has read them. | Die Passagen, die am nächsten kommen. Kein Modell hat sie gelesen. | Les passages les plus proches. Aucun modèle ne les a lus. | Los pasajes más cercanos. Ningún modelo los ha leído. | 最接近的段落。没有模型读过它们。 | 最も近い文章。モデルは読んでいません。
Nearest | Am nächsten kommt | Le plus proche | Lo más cercano | 最接近的内容 | 最も近い内容
Sources disagree | Quellen widersprechen sich | Les sources se contredisent | Las fuentes se contradicen | 来源相互矛盾 | 出典間の矛盾
What was not found | Was nicht gefunden wurde | Ce qui n’a pas été trouvé | Lo que no se encontró | 未找到的内容 | 見つからなかったこと
What limits this report | Grenzen dieses Berichts | Limites de ce rapport | Límites de este informe | 本报告的局限 | このレポートの限界
Earlier answers | Frühere Antworten | Réponses précédentes | Respuestas anteriores | 以前的回答 | 以前の回答
Asked since | Seither gefragt | Demandé depuis | Preguntado desde entonces | 后续提问 | その後の質問
Notes | Notizen | Notes | Notas | 笔记 | メモ
How this report was made | Wie dieser Bericht entstand | Comment ce rapport a été fait | Cómo se hizo este informe | 报告生成方式 | このレポートの作成方法
How this was searched | Wie gesucht wurde | Comment la recherche a été faite | Cómo se buscó | 搜索方式 | 検索方法
how this was researched | wie recherchiert wurde | la recherche en détail | cómo se investigó | 研究过程 | 調査の経過
without a model | ohne Modell | sans modèle | sin modelo | 不使用模型 | モデルなし
Searched in | Gesucht in | Cherché dans | Buscado en | 搜索范围 | 検索先
{facts} found in {pages} | {facts} aus {pages} | {facts} dans {pages} | {facts} en {pages} | {pages}中的{facts} | {pages}から{facts}
Time | Dauer | Durée | Duración | 用时 | 所要時間
under a second | unter einer Sekunde | moins d’une seconde | menos de un segundo | 不到一秒 | 1秒未満
Cost | Kosten | Coût | Coste | 费用 | 費用
Perspectives | Perspektiven | Perspectives | Perspectivas | 视角 | 観点
Perspective | Perspektive | Perspective | Perspectiva | 视角 | 観点
Night | Nacht | Nuit | Noche | 夜间运行 | 夜間実行
Nights | Nächte | Nuits | Noches | 夜间运行 | 夜間実行
Topic | Thema | Thème | Tema | 主题 | トピック
Topics | Themen | Thèmes | Temas | 主题 | トピック
Earlier on the same question | Früher zur selben Frage | Auparavant sur la même question | Antes sobre la misma pregunta | 此前的同一问题 | 同じ質問の以前の調査
Researched again | Erneut recherchiert | Nouvelle recherche | Investigado de nuevo | 再次研究 | 再調査
Superseded by a newer report | Ersetzt durch einen neueren Bericht | Remplacé par un rapport plus récent | Sustituido por un informe más reciente | 已被新报告取代 | 新しいレポートに置き換え
{pages} read | {pages} gelesen | lecture de {pages} | lectura de {pages} | 已读{pages} | {pages}を閲覧
{path} in your documents | {path} in Ihren Dokumenten | {path} dans vos documents | {path} en sus documentos | 您的文档中的 {path} | 自分の文書の {path}
Your documents | Ihre Dokumente | Vos documents | Sus documentos | 您的文档 | 自分の文書
on the web | im Web | sur le web | en la web | 网络 | ウェブ
The web | Das Web | Le web | La web | 网络 | ウェブ
the web | Web | web | web | 网络 | ウェブ
∴ marks what no source says, but what follows from those cited. | ∴ bezeichnet, was keine Quelle sagt, aber aus den zitierten folgt. | ∴ marque ce qu’aucune source ne dit, mais qui découle de celles citées. | ∴ marca lo que ninguna fuente dice, pero se sigue de las citadas. | ∴ 表示来源未直接说明、但可由所引来源推出的内容。 | ∴ は、どの出典にもないが引用した出典から導かれる内容を示します。
also in | auch in | aussi dans | también en | 另见 | ほかに
disputed | bestritten | contesté | en disputa | 有争议 | 異論あり
disputed quote | bestrittenes Zitat | citation contestée | cita en disputa | 引文有争议 | 異論のある引用
New since {day} | Neu seit {day} | Nouveau depuis le {day} | Nuevo desde el {day} | {day}以来的新内容 | {day}以降の新しい内容
Nothing new since {day} | Nichts Neues seit {day} | Rien de nouveau depuis le {day} | Nada nuevo desde el {day} | {day}以来没有新内容 | {day}以降、新しい内容なし
{facts} as before | {facts} wie zuvor | {facts} comme avant | {facts} como antes | {facts}与之前相同 | {facts}は以前と同じ
{pages} changed in other places | {pages} an anderen Stellen geändert | {pages} avec des changements ailleurs | {pages} con cambios en otras partes | {pages}在其他位置有改动 | {pages}がほかの箇所で変更
Changed | Geändert | Modifié | Cambiado | 已更改 | 変更
It said before | Vorher stand dort | Il y avait avant | Antes decía | 此前为 | 以前の記述
Gone | Nicht mehr vorhanden | Disparu | Ya no está | 已消失 | なくなったもの
Sources that changed their text | Quellen mit geändertem Text | Sources dont le texte a changé | Fuentes cuyo texto cambió | 文本有改动的来源 | 本文が変わった出典
Called wrong, no longer shown | Als falsch markiert, nicht mehr gezeigt | Signalé comme faux, n’est plus affiché | Marcado como erróneo, ya no se muestra | 已标为错误，不再显示 | 誤りとされ、表示しないもの
New | Neu | Nouveau | Nuevo | 新增 | 新規
Cited by | Zitiert von | Cité par | Citado por | 被引用于 | 引用元
Cited in | Zitiert in | Cité dans | Citado en | 被引用于 | 引用元
{report} as source {number}, with {quotes} ({day}) | {report} als Quelle {number}, mit {quotes} ({day}) | {report} comme source {number}, avec {quotes} ({day}) | {report} como fuente {number}, con {quotes} ({day}) | {report}，来源 {number}，{quotes}（{day}） | {report}、出典 {number}、{quotes}（{day}）
Quotes | Zitate | Citations | Citas | 引文 | 引用
Quote | Zitat | Citation | Cita | 引文 | 引用
Under “{heading}” | Unter „{heading}“ | Sous « {heading} » | Bajo «{heading}» | 位于“{heading}” | 「{heading}」の項
on page {number} | auf Seite {number} | à la page {number} | en la página {number} | 第 {number} 页 | {number} ページ
page {number} | Seite {number} | page {number} | página {number} | 第 {number} 页 | {number} ページ
Found, but not cited | Gefunden, aber nicht zitiert | Trouvé, mais non cité | Encontrado, pero no citado | 已找到但未引用 | 見つかったが引用なし
Found here, but not cited | Hier gefunden, aber nicht zitiert | Trouvé ici, mais non cité | Encontrado aquí, pero no citado | 此处找到但未引用 | ここで見つかったが引用なし
Found for {question}, {day} | Gefunden für {question}, {day} | Trouvé pour {question}, {day} | Encontrado para {question}, {day} | 为{question}找到，{day} | {question}のために発見、{day}
Nothing was taken from it. | Daraus wurde nichts entnommen. | Rien n’en a été tiré. | No se tomó nada de aquí. | 未从中摘录内容。 | 何も引用していません。
Disputed | Bestritten | Contesté | En disputa | 有争议 | 異論あり
Read it {there} | Nachlesen {there} | À lire {there} | Léalo {there} | {there}阅读 | {there}で読む
in the page | auf der Seite | dans la page | en la página | 在原网页 | 元のページ
by {author} | von {author} | par {author} | de {author} | 作者：{author} | 著者：{author}
published {day} | veröffentlicht {day} | publié {day} | publicado {day} | 发表于 {day} | 公開 {day}
{count} of headers, footers and tables of contents left out | {count} von Kopf- und Fußzeilen und Inhaltsverzeichnissen ausgelassen | {count} d’en-têtes, de pieds de page et de tables des matières laissés de côté | {count} de encabezados, pies de página e índices omitidas | 已略去页眉、页脚和目录中的{count} | ヘッダー、フッター、目次の{count}を除外
first read {day} | zuerst gelesen am {day} | lu d’abord le {day} | leído por primera vez el {day} | 首次阅读于{day} | 初回閲覧 {day}
Report | Bericht | Rapport | Informe | 报告 | レポート
No report | Kein Bericht | Pas de rapport | Sin informe | 无报告 | レポートなし
Cancelled | Abgebrochen | Annulé | Cancelado | 已取消 | 中止
Unfinished | Unvollendet | Inachevé | Sin terminar | 未完成 | 未完了
Plan | Plan | Plan | Plan | 计划 | 計画
Workers | Arbeitsgänge | Travaux | Trabajos | 工作线 | 作業
Round {number} | Runde {number} | Tour {number} | Ronda {number} | 第 {number} 轮 | ラウンド {number}
Searches | Suchen | Recherches | Búsquedas | 搜索 | 検索
Search | Suche | Recherche | Búsqueda | 搜索 | 検索
Pages | Seiten | Pages | Páginas | 网页 | ページ
Page | Seite | Page | Página | 网页 | ページ
Facts | Fundstellen | Faits | Hallazgos | 事实 | 事実
Questions | Fragen | Questions | Preguntas | 问题 | 質問
What failed | Was misslang | Ce qui a échoué | Qué falló | 失败的步骤 | 失敗したこと
Still open | Noch offen | Encore ouvert | Aún abierto | 尚未解决 | 未解決
Sources | Quellen | Sources | Fuentes | 来源 | 出典
answered | beantwortet | répondu | respondido | 已回答 | 回答あり
answered in part | teilweise beantwortet | répondu en partie | respondido en parte | 部分回答 | 一部回答
passages | Passagen | passages | pasajes | 段落 | 該当箇所
not found | nicht gefunden | non trouvé | no encontrado | 未找到 | 見つかりませんでした
Answered in part | Teilweise beantwortet | Répondu en partie | Respondido en parte | 部分回答 | 一部回答
Passages | Passagen | Passages | Pasajes | 段落 | 該当箇所
More places | Weitere Stellen | Autres passages | Otros pasajes | 更多相关段落 | ほかの該当箇所
Found and not used | Gefunden und nicht verwendet | Trouvé et non utilisé | Encontrado y no usado | 已找到但未使用 | 見つかったが未使用
Runs | Läufe | Exécutions | Ejecuciones | 运行 | 実行
Sessions | Sitzungen | Sessions | Sesiones | 会话 | セッション
The quotes | Die Zitate | Les citations | Las citas | 引文 | 引用文
in the source’s note | in der Notiz zur Quelle | dans la note de la source | en la nota de la fuente | 在来源笔记中 | 出典のメモ
on the page | auf der Seite | sur la page | en la página | 在原网页 | 元のページ
back to the text | zurück zum Text | retour au texte | volver al texto | 返回正文 | 本文に戻る
Linked from | Verlinkt von | Liens entrants | Enlazado desde | 链接来源 | リンク元
page | Seite/Seiten | page/pages | página/páginas | 页 | ページ
passage | Passage/Passagen | passage/passages | pasaje/pasajes | 个段落 | 件の該当箇所
fact | Fundstelle/Fundstellen | fait/faits | hallazgo/hallazgos | 条事实 | 件の事実
word | Wort/Wörter | mot/mots | palabra/palabras | 词 | 語
source | Quelle/Quellen | source/sources | fuente/fuentes | 个来源 | 件の出典
quote | Zitat/Zitate | citation/citations | cita/citas | 条引文 | 件の引用
event | Ereignis/Ereignisse | événement/événements | evento/eventos | 个事件 | 件のイベント
token | Token/Tokens | jeton/jetons | token/tokens | 个词元 | トークン
search | Suche/Suchen | recherche/recherches | búsqueda/búsquedas | 次搜索 | 回の検索
round | Runde/Runden | tour/tours | ronda/rondas | 轮 | ラウンド
question | Frage/Fragen | question/questions | pregunta/preguntas | 个问题 | 件の質問
older report | älterer Bericht/ältere Berichte | rapport plus ancien/rapports plus anciens | informe más antiguo/informes más antiguos | 份更早的报告 | 件の古いレポート
"""  # noqa: E501 - one line a label
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_DATES = {
    "en": "{day} {month} {year}",
    "de": "{day}. {month} {year}",
    "fr": "{day} {month} {year}",
    "es": "{day} de {month} de {year}",
    "zh": "{year}年{number}月{day}日",
    "ja": "{year}年{number}月{day}日",
}
_THOUSANDS = {"de": ".", "fr": "\u202f", "es": "\u202f"}  # what stands between thousands, where it is no comma


@cache
def _labels() -> dict[str, dict[str, str]]:
    """Each label in all languages, by its English words."""
    rows = ([cell.strip() for cell in line.split(" | ")] for line in TABLE.strip().split("\n"))
    return {row[0]: dict(zip(LANGUAGES, row, strict=True)) for row in rows}


def is_label(words: str) -> bool:
    """Return whether the table has these English words."""
    return words in _labels()


def label(words: str, language: str, **values: str) -> str:
    """Return a label, given in English, in a language, with each ``{name}`` replaced; in English if the table lacks it."""
    found = _labels().get(words, {}).get(language, words)
    for name, value in values.items():
        found = found.replace(f"{{{name}}}", value)
    return found


def in_all_languages(words: str) -> frozenset[str]:
    """Return a label in all languages."""
    return frozenset({words, *_labels()[words].values()})


def count(number: int, one: str, many: str = "", language: str = ENGLISH) -> str:
    """Return ``1 fact``, ``1,234 facts``, ``no facts``; in German ``1.234 Fundstellen``."""
    noun = label(one, language)
    if noun == one:
        many = many or f"{one}s"
        return f"no {many}" if number == 0 else f"{number:,} {one if number == 1 else many}"
    singular, _, plural = noun.partition("/")
    is_one = number == 1 or (number == 0 and language == "fr")
    return f"{number:,} ".replace(",", _THOUSANDS.get(language, ",")) + (singular if is_one else plural or singular)


def day(at: str, language: str = ENGLISH) -> str:
    """Return the day of an envelope's time, or of a date: ``21 November 2026``; "" stays ""."""
    if not at:
        return ""
    shown = language if language in _DATES else ENGLISH
    number = int(at[5:7])
    month = MONTHS[shown].split()[number - 1] if shown in MONTHS else ""
    return _DATES[shown].format(day=int(at[8:10]), month=month, number=number, year=at[:4])
