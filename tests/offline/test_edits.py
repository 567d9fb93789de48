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
    ("Lines 2 and 7 stop at the harbour.", "Lines 2 and 8 stop at the harbour."),
    ("The ferry leaves at 7 a.m. every day.", "The ferry leaves at 7 p.m. every day."),
    ("The pump moves 40 litres a minute.", "The pump moves 40 litres an hour."),
    ("The disk holds 64 GB of films.", "The disk holds 64 MB of films."),
    ("The firm earned $5m in May.", "The firm earned €5m in May."),
    ("It opens at 9 and closes at 5.", "It closes at 9 and opens at 5."),
    ("试用期为一个月，工资照发。", "试用期为一年，工资照发。"),
    ("每日服用2次，每次1片。", "每周服用2次，每次1片。"),
    ("这台机器卖4200元。", "这台机器卖4200欧元。"),
    ("She scored twice in the second half.", "She scored twice in the first half."),
    # names, among them such as another sentence has
    (
        "Nadia Petrov and Omar Said run the bakery. Lena Ruiz owns the mill.",
        "Lena Petrov and Omar Said run the bakery.",
    ),
    ("The US signed the treaty in 1990.", "The UN signed the treaty in 1990."),
    ("Dr. Jean-Luc Morel wrote the report in 2009.", "Dr. Pierre Morel wrote the report in 2009."),
    ("Plug the cable into port A of the router.", "Plug the cable into port B of the router."),
    ("2019年，李明在北京创办了公司。", "2019年，王明在北京创办了公司。"),
    ("2019年，李明在北京创办了公司。", "2019年，李强在北京创办了公司。"),
    ("2019年，李明在北京创办了公司。", "2019年，李明在上海创办了公司。"),
    # negations
    ("The museum opened in 1987 in Lyon.", "The museum did not open in 1987 in Lyon."),
    ("Wages rose in May, and prices fell.", "Wages did not rise in May, and prices fell."),
    (
        "The owl does not migrate and hunts mice at night.",
        "The owl does not migrate and never hunts mice at night.",
    ),
    ("The app no longer supports old phones.", "The app still supports old phones."),
    ("Most of the cakes are sold before noon.", "None of the cakes are sold before noon."),
    ("游客可以在展厅里拍照。", "没有游客可以在展厅里拍照。"),
    ("房客逾期不付须缴纳滞纳金。", "房客逾期不付无须缴纳滞纳金。"),
    ("这款手表支持无线充电。", "这款手表不支持无线充电。"),
    ("请勿将水壶放入洗碗机。", "请将水壶放入洗碗机。"),
    ("There is a ferry to São Tomé.", "There is no ferry to São Tomé."),
    ("Das Museum ist nicht mehr geöffnet.", "Das Museum ist geöffnet."),
    ("张三雇用了李四。", "张三没有雇用李四。"),
    ("并非所有药店都卖这种药。", "所有药店都卖这种药。"),
    # how much of it
    ("Half of the pupils walk to school.", "All of the pupils walk to school."),
    ("The lift is sometimes out of order.", "The lift is always out of order."),
    ("其中一部分陶片带有彩绘。", "全部陶片带有彩绘。"),
    ("部分护士接受了急救培训。", "护士全都接受了急救培训。"),
    # who did what
    ("The tenant must warn the landlord in writing.", "The landlord must warn the tenant in writing."),
    ("Tanaka Tea bought Harlow Foods in 1998.", "Harlow Foods bought Tanaka Tea in 1998."),
    ("Tanaka Tea bought Harlow Foods in 1998.", "Tanaka Tea was bought by Harlow Foods in 1998."),
    ("Ida Holm, who led the choir, thanked Per Lund in May.", "Per Lund thanked Ida Holm in May."),
    ("The bus was travelling from Lyon to Geneva.", "The bus was travelling from Geneva to Lyon."),
    ("Add the salt before you drain the rice.", "Drain the rice before you add the salt."),
    (
        "The match was cancelled because the pitch was frozen.",
        "The pitch was frozen because the match was cancelled.",
    ),
    ("The hall has 900 seats and 12 exits.", "The hall has 12 seats and 900 exits."),
    ("法院判决被告王磊赔偿原告刘芳8万元。", "法院判决原告刘芳赔偿被告王磊8万元。"),
    ("那只黑猫被邻居家的白狗追了两条街。", "那只黑猫把邻居家的白狗追了两条街。"),
    ("张三的父亲是李四。", "李四的父亲是张三。"),
    # days
    ("The market opens on Wednesdays.", "The market opens on Fridays."),
    ("集市每周三和周六开放。", "集市每周三和周日开放。"),
    # one of several sentences
    (
        "Aspirin thins the blood. It was first sold in 1899. It is made in Leverkusen.",
        "Codeine thins the blood. It was first sold in 1899. It is made in Leverkusen.",
    ),
    # a clause that is made up, however short against the rest
    ("Tove Aldous hired Pavel Moreau in 1968.", "Tove Aldous hired Pavel Moreau in 1968 and died of fever."),
    ("Some judges favour her.", "Some judges favour her, and the mayor keeps three white foxes."),
    ("有些居民说剧院是石头建的。", "有些居民说剧院是石头建的，后来在里斯本获得金牌。"),
]
"""A source, and what it does not say."""

SAME = [
    # clauses in any order
    (
        "At the centre of Ely, Rosa Tarn has defeated Igor Slade in 12 hours, and some judges favour her.",
        "And some judges favour her, Rosa Tarn has defeated Igor Slade in 12 hours, at the centre of Ely.",
    ),
    (
        "在青石镇中心，何静打败了郭远，比赛用了12小时，一些裁判是退休教师。",
        "在青石镇中心，一些裁判是退休教师，比赛用了12小时，何静打败了郭远。",
    ),
    # case, signs and spelling
    ("Rosa Tarn has rowed 1,250 kilometres.", "ROSA TARN HAS ROWED 1250 KILOMETERS"),
    ("Rosa Tarn has rowed 1,250 kilometres.", "- “rosa tarn has rowed 1.250 kilometres!”"),
    ("The theatre’s neighbours favour the programme.", "The theater's neighbors favor the program."),
    ("这座桥长1250公里；有些居民不喜欢它。", "“这座桥长1 250公里，有些居民不喜欢它！”"),
    ("The museum opened in Lyon in 1987.", "In 1987 the museum opened in Lyon."),
    ("The report says 1,200 boxes were lost in March.", "In March, 1,200 boxes were lost, the report says."),
    ("Children under 10 cannot swim without an adult.", "Without an adult, children under 10 cannot swim."),
    ("Councillor Smith voted against the plan.", "Councilor Smith voted against the plan."),
    ("The lake is 27 km long and 4 km wide.", "The lake is 4 km wide and 27 km long."),
    ("The shop sells books, maps and posters.", "The shop sells posters, maps and books."),
    ("Neither the hall nor the library has a lift.", "Neither the library nor the hall has a lift."),
    ("The shop opens at 7 a.m. and closes at 4 p.m.", "The shop opens at 7 am and closes at 4 pm."),
    ("The shop opens at 7 a.m. and closes at 4 p.m.", "The shop closes at 4 p.m. and opens at 7 a.m."),
    ("Is it open? No, the library does not open on Sundays.", "The library does not open on Sundays."),
    ("Sales rose by 8.5% in the third quarter.", "Sales rose by 8.5 percent in the 3rd quarter."),
    ("The tank holds 8 GB of data.", "The tank holds 8GB of data."),
    ("It opened on 15 March 2024.", "It opened on 15 Mar 2024."),
    ("Use 0.5 ml of it.", "Use .5 ml of it."),
    ("The price of item 1 is 3 euros. The price of item 2 is 6 euros.", "The price of item 2 is 6 euros."),
    ("El museo está cerrado el lunes.", "El lunes el museo está cerrado."),
    ("Anna eröffnete im Mai das Haus.", "Im Mai eröffnete Anna das Haus."),
    ("Queen Elizabeth I ruled for 44 years.", "For 44 years Queen Elizabeth I ruled."),
    ("“It will rain,” said Mayor Oyelaran.", "Mayor Oyelaran said, “It will rain.”"),
    ("2019年，李明在北京创办了公司，员工有1200人。", "2019年李明在北京创办了公司员工有1200人。"),
    ("2019年，李明在北京创办了公司，员工有1200人。", "李明于2019年在北京创办了公司；员工有1,200人"),
    ("2019年，李明在北京创办了公司，员工有1200人。", "二〇一九年，李明在北京创办了公司，员工有一千二百人。"),
    ("张伟把这幅画以3500欧元卖给了李娜。", "张伟以3500欧元把这幅画卖给了李娜。"),
    ("人事部由蒋东负责，财务部由冯兰负责。", "财务部由冯兰负责，人事部由蒋东负责。"),
    ("未休完的年假不能折算成现金，病假照常支付。", "病假照常支付；未休完的年假不能折算成现金。"),
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
    if number != 4800:
        edited = sentence.replace("4,800", str(number))
        assert min(losses(sentence, edited, f"The door is grey. {sentence} 门票九欧元。")) >= LEAST_LOSS
