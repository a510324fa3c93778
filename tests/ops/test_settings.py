"""Where things are: an option before the environment, the environment before the default."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ops.settings import ROOTS_HOME, Settings, read_settings

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a folder of its own for servers")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DEALPROOF_")]:
        monkeypatch.delenv(name)


def test_an_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "DATABASE_URL", "KEY_FILE"):
        monkeypatch.setenv(f"DEALPROOF_{name}", "/environment")

    from_options = read_settings("/home", "postgresql://h/d", "/key")
    from_environment = read_settings(None, None, None)

    assert from_options == Settings(Path("/home"), "postgresql://h/d", Path("/key"))
    assert from_environment == Settings(Path("/environment"), "/environment", Path("/environment"))


def test_by_default_the_database_is_embedded_and_the_key_lies_below_the_home() -> None:
    settings = read_settings("/srv/deal proof", None, None)

    assert settings == Settings(Path("/srv/deal proof"), None, Path("/srv/deal proof/keys/dealproof.key"), "warning")


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    without = read_settings(None, None, None)
    for name in ("HOME", "DATABASE_URL", "KEY_FILE"):
        monkeypatch.setenv(f"DEALPROOF_{name}", "")

    assert read_settings(None, None, None) == without
    assert without.database_url is None
    assert without.home.is_absolute()


def test_a_home_may_be_relative_or_below_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/users/alice")

    assert read_settings("data", None, None).home == tmp_path / "data"
    assert read_settings("~/data", None, "~/a.key") == Settings(
        Path("/users/alice/data"), None, Path("/users/alice/a.key")
    )


def test_the_level_of_the_log_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEALPROOF_LOG", "debug")

    assert read_settings(None, None, None).log_level == "debug"


def test_a_users_default_home_is_a_user_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    home = read_settings(None, None, None).home

    assert home.name == "dealproof"
    assert tmp_path in home.parents
    assert Settings(home, None, home).server_folder == home / "postgresql"


@as_root
def test_roots_default_home_can_be_reached_by_the_servers_user() -> None:
    settings = read_settings(None, None, None)

    assert settings.home == ROOTS_HOME
    assert settings.server_folder == ROOTS_HOME / "postgresql"


@as_root
def test_for_root_the_server_of_a_hidden_home_lies_elsewhere(tmp_path: Path) -> None:
    """One folder for each home, the same at each start, and never below a folder that the server's user can't enter."""
    tmp_path.chmod(0o700)
    folders = {
        name: Settings(tmp_path / name, None, tmp_path / "key").server_folder for name in ("a", "b", "with space")
    }

    assert len(set(folders.values())) == 3
    for name, folder in folders.items():
        assert folder.parent == ROOTS_HOME / "homes"
        assert Settings(tmp_path / name, None, tmp_path / "key").server_folder == folder


@as_root
def test_for_root_the_server_of_a_home_in_reach_lies_below_it(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            home = Path("/var/tmp/not-made-by-a-test")
            break
    else:
        home = tmp_path / "home"

    assert Settings(home, None, home).server_folder == home / "postgresql"


def test_the_log_and_its_keys_lie_below_the_home_and_the_trust_file_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = read_settings("/srv/dealproof", None, None)

    assert settings.log_folder == Path("/srv/dealproof/log")
    assert settings.log_key_file == Path("/srv/dealproof/keys/log.key")
    assert settings.receipt_key_file == Path("/srv/dealproof/keys/receipt.key")
    assert settings.trust_file == Path("/srv/dealproof/trust.json")
    monkeypatch.setenv("DEALPROOF_TRUST", "/environment/trust.json")
    assert read_settings("/srv/dealproof", None, None).trust_file == Path("/environment/trust.json")
    assert read_settings("/srv/dealproof", None, None, "/option/trust.json").trust_file == Path("/option/trust.json")
