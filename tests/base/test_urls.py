"""URLs without what gives access to their files."""

from __future__ import annotations

import pytest

from forkrun.base.input_files.urls import hide_secrets, normalized_url, public_url

FILE = "root://eos.cern.ch//eos/cms/f.root"


@pytest.mark.parametrize(
    ("whole", "public"),
    [
        (FILE, FILE),
        (f"{FILE}?authz=Bearer%20abc", FILE),
        (
            f"{FILE}?xrdcl.unzip=b.root&authz=abc&svcClass=t0",
            f"{FILE}?xrdcl.unzip=b.root&svcClass=t0",
        ),
        (f"{FILE}?cap.sym=abc&cap.msg=def", FILE),
        ("root://me:password@host//f.root", "root://host//f.root"),
        ("root://me@host//f.root", "root://me@host//f.root"),
        ("https://ghp_token@host/f.root", "https://host/f.root"),
        (
            "https://h:8443/f?X-Amz-Date=1&X-Amz-Signature=ab&versionId=3",
            "https://h:8443/f?versionId=3",
        ),
        (
            "https://h/f?GoogleAccessId=me&Expires=1&Signature=a%2Fb",
            "https://h/f?GoogleAccessId=me",
        ),
        ("https://h/f?sv=2022&sp=r&se=2026&sig=abc", "https://h/f"),
        (f"https://h/f?x={'a' * 64}&id={'b' * 36}", f"https://h/f?id={'b' * 36}"),
        ("/data/a?token=b.root", "/data/a?token=b.root"),
    ],
)
def test_secrets_are_taken_out_and_names_stay(whole: str, public: str) -> None:
    assert public_url(whole) == public
    assert public_url(public) == public
    assert hide_secrets(f'files=["{whole}"]') == f'files=["{public}"]'


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("HTTP://Host/a.root", "http://Host/a.root"),
        ("ROOT://Host//A b.root", "root://Host//A b.root"),
        ("http://h/a b#1.root", "http://h/a%20b%231.root"),
        ("https://h/a%20b.root", "https://h/a%20b.root"),
        ("https://h/100%.root?x=%zz", "https://h/100%25.root?x=%25zz"),
        ("davs://h/ä^b.root", "davs://h/%C3%A4%5Eb.root"),
        (
            "https://h/f?a=b c&X-Amz-Signature=a%2Fb+c",
            "https://h/f?a=b%20c&X-Amz-Signature=a%2Fb+c",
        ),
        ("/Data/A b#.root", "/Data/A b#.root"),
    ],
)
def test_urls_are_spelled_as_servers_take_them(given: str, sent: str) -> None:
    assert normalized_url(given) == sent
    assert normalized_url(sent) == sent


def test_places_of_a_file_are_spelled_each() -> None:
    assert public_url("HTTP://a/x y|ROOT://b//x y") == "http://a/x%20y|root://b//x y"
    assert public_url("https://h/a#b.root?token=secret") == "https://h/a%23b.root"
