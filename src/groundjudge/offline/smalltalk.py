"""Telling by its words what states nothing: courtesies, questions back, and falling out of a role."""

from __future__ import annotations

import re

from groundjudge.offline.readings import Reader, reader

COURTESIES = frozenset(
    word
    for words in (
        "thank thanks thx welcome hello hi hey greetings ok okay sure great good nice glad happy",
        "sorry apologies",
        "apologize apologise please pleasure help assist assistance let know knows tell ask asking",
        "anything else",
        "something question questions feel course certainly absolutely definitely understand",
        "understood see yes",
        "yeah yep oh ah wow well right wonderful perfect awesome bye goodbye morning afternoon",
        "evening day today",
        "need moment wait get got idea think hope look looking forward hear i'm i'd i'll you're",
        "that's let's don't you'll",
        "danke dank vielen bitte gern gerne hallo guten guter morgen tag abend natürlich klar",
        "helfen hilfe frage",
        "fragen leid freut mich dir dich ihnen ja weiß verstehe super tschüss",
        "merci beaucoup bonjour bonsoir salut bien sûr aider aide question questions désolé désolée",
        "plaisir oui",
        "puis comment quoi sais",
        "gracias muchas hola buenos buenas días tardes claro ayudar ayudarle ayudarte pregunta",
        "preguntas perdón",
        "lamento siento gusto sí supuesto puedo sé",
        "grazie mille ciao buongiorno certo certamente aiutare aiutarla domanda prego piacere scusa",
        "scusi sì",
        "obrigado obrigada olá bom boa dia claro ajudar pergunta desculpe prazer sim",
        "bedankt graag natuurlijk helpen vraag vragen alsjeblieft alstublieft goedemorgen",
        "спасибо здравствуйте привет конечно пожалуйста помочь вопрос хорошо да",
        "شكرا شكرًا مرحبا مرحبًا أهلا أهلًا نعم بالطبع مساعدتك أساعدك سؤال عفوا بكل سرور",
        "كيف يمكنني لك لكم جزيلا",
        "नमस्ते धन्यवाद कृपया हाँ मदद ज़रूर",
    )
    for word in words.split()
)
"""Words of which a sentence can consist without stating anything."""

MOST_OTHER_WORDS = 0.4
"""The share of a courtesy's content words that may be others ("happy to help with your order")."""

LONGEST_NOTHING = 200
"""Characters of a sentence; a longer one states something, if only at length."""

LONGEST_QUESTION = 6
"""Content words of a question; a longer one tells something while it asks."""

YES = frozenset("yes yeah yep ja oui sí si sì sim da да نعم हाँ 是 是的 对 はい 네".split())  # noqa: SIM905
NO = frozenset("no nope nein non não nee нет لا नहीं 不 不是 否 いいえ 아니요".split())  # noqa: SIM905
"""Words that alone answer a question."""

_QUESTION = re.compile(r"[?？؟՞]\W*\Z")
_AROUND = " .,!…。！，\"'“”"
_COURTESY_SIGNS = re.compile(
    "谢谢|謝謝|感谢|您好|你好|好的|当然|當然|不客气|不客氣|抱歉|对不起|對不起|请问|請問|再见|没问题|很高兴|为您服务|帮助您|帮您|帮你"
    "|ありがとうございます|ありがとう|こんにちは|はい|かしこまりました|承知しました|すみません|申し訳ありません|もちろんです|どういたしまして"
    "|감사합니다|안녕하세요|네|죄송합니다|물론입니다|알겠습니다"
)
_OUT_OF_ROLE = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model|chat ?bot|virtual assistant)\b"
    r"|\bi(?: am|['’]m) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bi (?:can(?:no|['’])t|am (?:unable|not able) to|won['’]t|will not) (?:role-?play|pretend to be|act as"
    r"|play (?:as|along|(?:(?:this|that|the|a|your|his|her|their|such a) )?(?:role|part|character|persona)))"
    r"|\bals (?:eine? )?(?:ki|sprachmodell|ai|taalmodel)\b|\bich bin (?:nur )?eine? (?:ki|sprachmodell)\b"
    r"|\ben tant qu['’]?e? ?(?:ia|intelligence artificielle|modèle de langage)\b"
    r"|\bcomo (?:una? |um )?(?:ia|inteligencia artificial|inteligência artificial)\b"
    r"|\bcomo (?:una? |um )?modelo de (?:lenguaje|linguagem)\b"
    r"|\bcome (?:una? )?(?:ia|intelligenza artificiale|modello linguistico)\b"
    r"|(?:作为|我是)(?:一个|一名|一款)?(?:ai|人工智能|语言模型)"
    r"|aiとして|言語モデル(?:として|です)|как (?:ии|языковая модель)|كنموذج لغوي|كذكاء اصطناعي",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"\b(?:ai|ki|ia|robot|android|chat ?bot|computer|artificial intelligence|language model)\b"
    r"|人工智能|机器人|ロボット",
    re.IGNORECASE,
)


def states_nothing(sentence: str, read: Reader | None = None) -> bool:
    """Whether a sentence makes no claim: a courtesy, a question back, a bare yes or no, no words."""
    if bare_answer(sentence) is not None:
        return True
    read = read or reader()
    if len(sentence) > LONGEST_NOTHING or read(sentence).numbers:
        return False
    content = [word for word in read(_COURTESY_SIGNS.sub(" ", sentence)).words if word.weight == 1]
    if _QUESTION.search(sentence):
        return len(content) <= LONGEST_QUESTION
    others = [word for word in content if word.text.casefold().replace("’", "'") not in COURTESIES]
    return len(others) <= MOST_OTHER_WORDS * len(content)


def bare_answer(sentence: str) -> bool | None:
    """True for a yes and False for a no that stand alone; None for every other sentence."""
    word = sentence.strip(_AROUND).casefold()
    return True if word in YES else False if word in NO else None


def leaves_role(response: str, profile: str) -> bool:
    """Whether a response speaks as a machine or declines to play, though its character is no machine."""
    return bool(_OUT_OF_ROLE.search(response)) and not _MACHINE.search(profile)
