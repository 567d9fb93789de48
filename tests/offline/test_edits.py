"""Edits that make a supported sentence wrong lower its scores, and edits that keep its meaning do not.

Each row here shows one rule; see test_edit_corpus.py for many edits of each kind.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_judges import MOST_LOSS, offline_scores

from groundjudge.offline.support import index, support

LEAST_LOSS = 0.05

DIFFERENT = [
    # numbers, and what they count
    ("The ferry leaves at 7 a.m. every day.", "The ferry leaves at 7 p.m. every day."),
    ("The disk holds 64 GB of films.", "The disk holds 64 MB of films."),
    ("The firm earned $5m in May.", "The firm earned €5m in May."),
    ("It opens at 9 and closes at 5.", "It closes at 9 and opens at 5."),
    ("试用期为一个月，工资照发。", "试用期为一年，工资照发。"),
    ("She scored twice in the second half.", "She scored twice in the first half."),
    # names, among them such as another sentence has
    ("Nadia Petrov runs the bakery. Lena Ruiz owns the mill.", "Lena Petrov runs the bakery."),
    ("Plug the cable into port A of the router.", "Plug the cable into port B of the router."),
    # negations
    ("Wages rose in May, and prices fell.", "Wages did not rise in May, and prices fell."),
    ("The owl does not migrate and hunts mice.", "The owl does not migrate and never hunts mice."),
    ("Most of the cakes are sold before noon.", "None of the cakes are sold before noon."),
    ("请勿将水壶放入洗碗机。", "请将水壶放入洗碗机。"),
    ("There is a ferry to São Tomé.", "There is no ferry to São Tomé."),
    ("并非所有药店都卖这种药。", "所有药店都卖这种药。"),
    # how much of it
    ("部分护士接受了急救培训。", "护士全都接受了急救培训。"),
    # who did what
    ("Tanaka Tea bought Harlow Foods in 1998.", "Tanaka Tea was bought by Harlow Foods in 1998."),
    ("Ida Holm, who led the choir, thanked Per Lund in May.", "Per Lund thanked Ida Holm in May."),
    ("The bus was travelling from Lyon to Geneva.", "The bus was travelling from Geneva to Lyon."),
    ("Add the salt before you drain the rice.", "Drain the rice before you add the salt."),
    ("法院判决被告王磊赔偿原告刘芳8万元。", "法院判决原告刘芳赔偿被告王磊8万元。"),
    ("那只黑猫被邻居家的白狗追了两条街。", "那只黑猫把邻居家的白狗追了两条街。"),
    # one of several sentences
    ("Aspirin thins the blood. It was sold in 1899.", "Codeine thins the blood. It was sold in 1899."),
    # a clause that is made up, however short against the rest
    ("Tove Aldous hired Pavel Moreau in 1968.", "Tove Aldous hired Pavel Moreau in 1968 and died of fever."),
    ("有些居民说剧院是石头建的。", "有些居民说剧院是石头建的，后来在里斯本获得金牌。"),
]
"""A source, and what it does not say."""

SAME = [
    # clauses in any order
    ("In Ely, Tarn beat Slade, and some cheered.", "Tarn beat Slade, some cheered, in Ely."),
    ("何静打败了郭远，比赛用了12小时，裁判是教师。", "裁判是教师，比赛用了12小时，何静打败了郭远。"),
    # case, signs and spelling
    ("Rosa Tarn has rowed 1,250 kilometres.", "ROSA TARN HAS ROWED 1250 KILOMETERS"),
    ("The theatre’s neighbours favour the programme.", "The theater's neighbors favor the program."),
    ("这座桥长1250公里；有些居民不喜欢它。", "“这座桥长1 250公里，有些居民不喜欢它！”"),
    ("Children under 10 cannot swim without an adult.", "Without an adult, children under 10 cannot swim."),
    ("The shop sells books, maps and posters.", "The shop sells posters, maps and books."),
    ("The shop opens at 7 a.m. and closes at 4 p.m.", "The shop opens at 7 am and closes at 4 pm."),
    ("Is it open? No, the library does not open on Sundays.", "The library does not open on Sundays."),
    ("Sales rose by 8.5% in the third quarter.", "Sales rose by 8.5 percent in the 3rd quarter."),
    ("It opened on 15 March 2024.", "It opened on 15 Mar 2024."),
    ("The price of item 1 is 3 euros. The price of item 2 is 6 euros.", "The price of item 2 is 6 euros."),
    ("Queen Elizabeth I ruled for 44 years.", "For 44 years Queen Elizabeth I ruled."),
    ("2019年，李明在北京创办了公司，员工有1200人。", "李明于2019年在北京创办了公司；员工有1,200人"),
    ("2019年，李明在北京创办了公司，员工有1200人。", "二〇一九年，李明在北京创办了公司，员工有一千二百人。"),
    ("末班车18点30分从青岛发车。", "末班车18:30从青岛发车。"),
]
"""A source, and another way to say what it says."""


def scores(sentence: str, source: str) -> list[float]:
    """The support of a sentence, and what the judges that rest on it say."""
    return [support(sentence, index([source])).score, *offline_scores(sentence, source)]


def losses(sentence: str, edited: str, source: str) -> list[float]:
    """What an edit costs the support, and each judge's score."""
    pairs = zip(scores(sentence, source), scores(edited, source), strict=True)
    return [round(before - after, 9) for before, after in pairs]  # scores are decimals


@pytest.mark.parametrize(("source", "edited"), DIFFERENT)
def test_small_difference_is_seen(source: str, edited: str) -> None:
    assert min(losses(source, edited, source)) >= LEAST_LOSS


@pytest.mark.parametrize(("source", "edited"), SAME)
def test_other_way_to_say_it_costs_little(source: str, edited: str) -> None:
    assert max(losses(source, edited, source)) <= MOST_LOSS


@given(
    sentence=st.sampled_from(["It has 4,800 seats, and it is blue.", "这座桥长4,800米，是石头建的。"]),
    number=st.integers(min_value=2, max_value=10**7),
)
def test_any_other_number_lowers_the_score(sentence: str, number: int) -> None:
    # Nine stands in another sentence: that it is of something else there, the baseline does not see.
    if number not in {4800, 9}:
        edited = sentence.replace("4,800", str(number))
        assert min(losses(sentence, edited, f"The door is grey. {sentence} 门票九欧元。")) >= LEAST_LOSS
