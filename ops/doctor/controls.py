"""The controls in words: what each looks at, what it protects from and what not, how a finding is mended.

The one place of these texts: `dealproof doctor --explain`, its reports and docs/runbooks/doctor.md are made from them.

Not here: the looking itself; `examine` has the list of who does it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Control(NamedTuple):
    """One control; each text is one or more whole sentences."""

    name: str
    looks_at: str
    protects_from: str
    not_from: str
    remedy: str


ROLES: Final = Control(
    name="roles",
    looks_at=(
        "Nobody can log in as dealproof_owner. None of dealproof_owner, dealproof_app, dealproof_reader and "
        "dealproof_projector is a superuser, creates roles or databases, bypasses row security, replicates, or is a "
        "member of another role. No role writes beside all grants (pg_write_all_data and the two roles that write "
        "files or start programs). The login in use is no superuser and no member of the owner. Members of the owner "
        "and further superusers are listed."
    ),
    protects_from=(
        "A stolen password of the program, or a mistake in it, changes or deletes no event: the program has no right "
        "to."
    ),
    not_from=(
        "A superuser, or whoever writes the server's files or restores a backup of his own making, stands above all "
        "roles; he can act and put everything back between two examinations. Only the log and its witness find what "
        "he changed. A member of the owner can switch the triggers off. The embedded server of a desk has one user, "
        "who is a superuser: it protects from nobody."
    ),
    remedy=(
        "Take the attribute or the membership away (alter role, revoke), and give the program a login that is a "
        "member of dealproof_app only."
    ),
)

GRANTS: Final = Control(
    name="grants",
    looks_at=(
        "Every right on the schema dealproof, its tables, columns, functions and types, every owner and every default "
        "privilege, held against what the migrations give: dealproof_app reads, executes append_events, "
        "refuse_command and admit_request, and adds wrapped data keys; dealproof_reader reads; dealproof_projector "
        "reads events; PUBLIC has nothing."
    ),
    protects_from="A right given by the way, to a role, a login or PUBLIC, is seen; so is a lost one.",
    not_from=(
        "What was done with a right while it was there. A superuser and a member of the owner need no grant. Rights "
        "outside of the schema (to connect, to make temporary tables, on other schemas) are not looked at; tables of "
        "the schema projections belong to dealproof_projector, and what was changed there `dealproof reconcile` "
        "finds. Who may read, reads: nothing here keeps a reader from copying the journal."
    ),
    remedy=(
        "Revoke what is too much, grant what is missing (`dealproof database migrate --sql` shows all of it), give "
        "objects back to dealproof_owner; then ask who did it and when."
    ),
)

TRIGGERS: Final = Control(
    name="triggers",
    looks_at=(
        "The triggers refuse_change and refuse_truncate stand on events, commands, round_identity, data_key and "
        "refusals and are enabled always; beside the bell ring on commands there is no other trigger, rule, policy, "
        "event trigger, inheritance or subscription that acts on the schema. Not guarded, as rows leave them in daily "
        "work: open_rounds (follows from the events) and admitted_request (twelve minutes of requests)."
    ),
    protects_from=(
        "A mistake in an administrator's session, also one that plays a replica, stops at the trigger: nothing is "
        "updated, deleted or truncated."
    ),
    not_from=(
        "A superuser or a member of the owner can switch the triggers off and on again between two examinations, or "
        "write to the files below them; only the log and its witness find what he changed. Triggers don't guard "
        "against an insert; the grants do."
    ),
    remedy=(
        "Make the triggers again as in the migrations (`dealproof database migrate --sql`), drop what is too much; "
        "then run `dealproof verify --all` and `dealproof verify --accounts`, for something may have been changed."
    ),
)

FUNCTIONS: Final = Control(
    name="functions",
    looks_at=(
        "The digest of each function's body, its arguments, its settings (search_path is fixed), and whether it runs "
        "as its owner; no further function in the schema, and none in pg_catalog that PostgreSQL did not bring."
    ),
    protects_from=(
        "The one way to append is what it was when this version was released: dense streams, each command once, no "
        "balance below zero."
    ),
    not_from=(
        "A superuser can replace a function, use it and put the right one back between two examinations, or replace "
        "one of PostgreSQL's own or the server program itself. A function that is right appends a false event as well "
        "as a true one: what an event says is judged by `dealproof verify`."
    ),
    remedy=(
        "Create the functions again as in the migrations (`dealproof database migrate --sql`), drop what is too much."
    ),
)

SCHEMA: Final = Control(
    name="schema",
    looks_at=(
        "Every table and its persistence (admitted_request alone is unlogged), every column with its type, every "
        "constraint and every index, held against what the migrations make."
    ),
    protects_from=(
        "A dropped constraint or a table made unlogged is seen before a doubled position or a crash makes use of it."
    ),
    not_from=(
        "What came in while a constraint was away (making it again tells, for it checks the rows). An index that is "
        "damaged in its pages; `pg_amcheck` looks for that."
    ),
    remedy=(
        "Make the table as the migrations do (`dealproof database migrate --sql`); an index of your own belongs into "
        "a copy of the database."
    ),
)

REVISION: Final = Control(
    name="revision",
    looks_at="The database is at the revision that this program's migrations end with.",
    protects_from="A program does not work on a schema that it does not know.",
    not_from="The number is one row that a superuser can write; what the schema is like is said by the other controls.",
    remedy="Run `dealproof database migrate`, or install the program that belongs to the revision.",
)

SETTINGS: Final = Control(
    name="settings",
    looks_at=(
        "data_checksums, fsync, full_page_writes and synchronous_commit are on, session_replication_role is origin, "
        "nothing lets the server go on over damaged pages; the same for values kept for a role or the database. No "
        "page has failed its checksum. Noted: a server log that does not say who changed the schema."
    ),
    protects_from=(
        "What the server acknowledged is on the disk and survives a crash; a page that the disk changed is noticed "
        "when it is read."
    ),
    not_from=(
        "Checksums find accidents, not people: who writes the files computes the checksum too. A page is checked when "
        "it is read, so one that nobody reads may be damaged (`pg_checksums --check` reads all). A disk that says "
        "`written` and lies. A superuser may set a value for his own session."
    ),
    remedy=(
        "Set the value in postgresql.conf, or reset it (alter role … reset, alter database … reset); after a failed "
        "checksum take the disk out of use and restore from a backup, then `dealproof verify --all`."
    ),
)

CLOCK: Final = Control(
    name="clock",
    looks_at=(
        "The clocks of this machine and of the database server are less than one second apart; the newest event is "
        "not of a time still to come. Noted: a server whose time zone is not UTC."
    ),
    protects_from="A clock that was set or drifts is seen before its times stand in many records.",
    not_from=(
        "Two clocks that are wrong together (one machine, one time server); a clock that was set back and forth "
        "between two examinations. When an event was there at the latest is proved by the witness's cosignature, not "
        "by the time that it carries."
    ),
    remedy="Let both machines follow a time server (chrony, systemd-timesyncd); events keep the times they have.",
)

KEY_FILES: Final = Control(
    name="key-files",
    looks_at=(
        "The key file, the log's key and the receipts' key are regular files of 32 bytes with mode 0600 that belong "
        "to who runs the program, their folder has mode 0700; nobody else writes the trust file or into the home "
        "folder. A missing key file is a finding once seeds are sealed under it. No key is read."
    ),
    protects_from="Another user of this machine reads no seed and signs nothing in our name.",
    not_from=(
        "Root, whoever has a backup or the disk, and whoever has become the program's user: they have the keys. A key "
        "that was copied looks as before. Key files on other machines are not looked at."
    ),
    remedy=(
        "chmod 600 the file and 700 its folder, chown both to the program's user; if somebody may have read it, "
        "change the key (docs/runbooks/keys.md)."
    ),
)

SOFTWARE: Final = Control(
    name="software",
    looks_at=(
        "SHA-256 over the program's own files, its version, Python's and the dependencies', compared with the last "
        "recorded examination. Files that changed under the same version are a finding, another version is noted "
        "(GLI-19 section 2.3.2)."
    ),
    protects_from=(
        "A program that was changed after it was released is named in the record, with the time between which "
        "examinations it happened."
    ),
    not_from=(
        "A changed program can say what it likes, also of itself: compute the digest with other tools "
        "(docs/runbooks/doctor.md has the command) and compare it with that of the release. The files of Python and "
        "of the dependencies are known by version only, the operating system not at all. A change that is undone "
        "before the next examination is not seen."
    ),
    remedy=(
        "Install the release anew and compare its digest; if the change was meant, release it under a version of its "
        "own. The next examination compares with this one."
    ),
)

CONFIGURATION: Final = Control(
    name="configuration",
    looks_at=(
        "Digests of the program's settings without passwords, of the active rulesets and of the tables' settings, "
        "compared with the last recorded examination. What changed is noted."
    ),
    protects_from="A change of rules, limits or places is named in the record, beside the events that say who made it.",
    not_from=(
        "It does not say whether a change was allowed; tables and rulesets are changed by events with a person behind "
        "each. Two examinations that are started with other options differ in their settings. What was changed and "
        "changed back in between is seen only where events say it."
    ),
    remedy="Nothing is to be mended here; look up who changed it (the streams of tables and rulesets, the deployment).",
)

JOURNAL: Final = Control(
    name="journal",
    looks_at=(
        "Positions run from 1 without a gap, the commands have as many events as there are, every open round was "
        "opened, and the journal has all events that the log has."
    ),
    protects_from="An event that was deleted, or a restore from another moment, is seen without a long proof.",
    not_from=(
        "Whoever deletes in all tables alike, or changes an event and leaves their number. `dealproof verify --all` "
        "and `--accounts` prove more, and the log and its witness the rest."
    ),
    remedy=(
        "Stop play. `dealproof verify --accounts` names what is missing; compare with the log and with a backup, and "
        "keep the database as it is for the regulator."
    ),
)

CONTROLS: Final = (
    ROLES, GRANTS, TRIGGERS, FUNCTIONS, SCHEMA, REVISION, SETTINGS, CLOCK, KEY_FILES, SOFTWARE, CONFIGURATION, JOURNAL,
)  # fmt: skip

BY_NAME: Final = {control.name: control for control in CONTROLS}


def explained() -> str:
    """All controls as a part of a Markdown page."""
    return "\n".join(_explained(control) for control in CONTROLS)


def _explained(control: Control) -> str:
    parts = (
        ("Looks at", control.looks_at),
        ("Protects from", control.protects_from),
        ("Does not protect from", control.not_from),
        ("To mend it", control.remedy),
    )
    return f"### {control.name}\n\n" + "".join(f"- **{title}:** {text}\n" for title, text in parts)
