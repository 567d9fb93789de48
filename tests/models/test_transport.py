"""The proxies of the environment, which requests to an endpoint go through."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from command_line import GOOD, ROW
from standin_openai import StandIn

from groundjudge import load
from groundjudge.models.openai import OpenAIModel

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
ELSEWHERE = "http://judges.invalid/v1"
"""An endpoint that only a proxy can reach."""


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without proxies."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)


def status_through(proxy: StandIn, url: str = ELSEWHERE) -> str:
    """Judge a row with a model elsewhere; the status is "ok" if a proxy answered."""
    verdict = load("groundedness", model=OpenAIModel("m", base_url=url, max_retries=0)).evaluate(ROW)
    assert len(proxy.requests) == (verdict.status == "ok")
    return verdict.error.code if verdict.error else verdict.status


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        pytest.param({"HTTP_PROXY": "{url}"}, "ok", id="for HTTP"),
        pytest.param({"http_proxy": "{url}"}, "ok", id="in small letters"),
        pytest.param({"ALL_PROXY": "{url}"}, "ok", id="for everything"),
        pytest.param(
            {"HTTP_PROXY": " ", "ALL_PROXY": "{url}"}, "ok", id="for everything, and blank for HTTP"
        ),
        pytest.param({"HTTPS_PROXY": "{url}"}, "connection", id="for HTTPS alone"),
        pytest.param({"HTTP_PROXY": "{url}", "NO_PROXY": "judges.invalid"}, "connection", id="not for it"),
        pytest.param({"HTTP_PROXY": "{url}", "NO_PROXY": "*"}, "connection", id="for nothing"),
        pytest.param({}, "connection", id="none"),
    ],
)
def test_requests_go_through_the_proxy_of_the_environment(
    variables: dict[str, str], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StandIn([GOOD]) as proxy:
        parts = urlsplit(proxy.url)
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(url=f"http://{parts.netloc}", host=parts.netloc))
        assert status_through(proxy) == status


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("{host}", id="without a scheme"),
        pytest.param("HTTP://{host}", id="scheme in capitals"),
        pytest.param(" http://{host}\n", id="blanks around it"),
        pytest.param("http://{host}/path?query", id="with a path"),
        pytest.param("me:pw@{host}", id="user and password without a scheme"),
    ],
)
def test_a_proxy_is_read_as_curl_reads_it(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn([GOOD]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", value.format(host=urlsplit(proxy.url).netloc))
        assert status_through(proxy) == "ok"


def test_a_blank_proxy_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", " \n")
    with StandIn([GOOD]) as server:
        load("groundedness", model=OpenAIModel("m", base_url=server.url)).judge(ROW)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("HTTP_PROXY", "socks5://me:secret@h:1", id="socks5"),
        pytest.param("ALL_PROXY", "socks5h://me:secret@h:1", id="socks5h for everything"),
        pytest.param("HTTP_PROXY", "ftp://me:secret@h:1", id="another scheme"),
        pytest.param("HTTP_PROXY", "://h:1", id="empty scheme"),
        pytest.param("HTTP_PROXY", ":3128", id="port alone"),
        pytest.param("HTTP_PROXY", "http://me:secret@", id="password alone"),
        pytest.param("HTTP_PROXY", "http://[::1", id="bracket that stays open"),
        pytest.param("HTTP_PROXY", "http://me:secret@h:port", id="port that is no number"),
    ],
)
def test_another_proxy_is_refused_by_its_variable(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    verdict = load("groundedness", model=OpenAIModel("m", base_url=ELSEWHERE)).evaluate(ROW)
    assert verdict.error is not None
    assert verdict.error.code == "no_endpoint"
    assert verdict.error.message.startswith(f"m at judges.invalid: {variable.upper()} ")
    assert "is not the URL of an HTTP proxy" in verdict.error.message
    assert "secret" not in verdict.error.message


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("HTTPS_PROXY", "socks5://h:1", id="for HTTPS alone"),
        pytest.param("ALL_PROXY", "http://[::1", id="for everything else"),
        pytest.param("NO_PROXY", "http://[::1", id="hosts without a proxy that are none"),
    ],
)
def test_a_proxy_that_is_not_needed_is_not_read(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StandIn([GOOD]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{urlsplit(proxy.url).netloc}")
        monkeypatch.setenv(variable, value)
        assert status_through(proxy) == "ok"


def test_a_host_without_a_proxy_needs_no_proxy_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://h:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StandIn([GOOD]) as server:
        load("groundedness", model=OpenAIModel("m", base_url=server.url)).judge(ROW)


def test_a_proxy_is_sent_its_user_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn([GOOD]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:pw@{urlsplit(proxy.url).netloc}")
        assert status_through(proxy) == "ok"
        assert proxy.requests[0].headers["Proxy-Authorization"] == "Basic bWU6cHc="


def test_an_ipv6_address_is_left_out_as_it_is_written_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn([GOOD]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{urlsplit(proxy.url).netloc}")
        monkeypatch.setenv("NO_PROXY", "localhost,::1")
        assert status_through(proxy, "http://[::1]:9/v1") == "connection"


def test_a_proxy_that_refuses_is_no_answer_of_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn([GOOD]) as proxy:
        # It is no proxy for HTTPS, and answers CONNECT with an error.
        monkeypatch.setenv("HTTPS_PROXY", f"http://{urlsplit(proxy.url).netloc}")
        assert status_through(proxy, "https://judges.invalid/v1") == "connection"


def test_a_header_of_the_users_takes_the_place_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Basic gateway")
    with StandIn([GOOD]) as server:
        load("groundedness", model=OpenAIModel("m", base_url=server.url, api_key="k")).judge(ROW)
    assert server.requests[0].headers["Authorization"] == "Basic gateway"
