"""Who is what in the database: the four roles of the house, their members, and who we are ourselves.

Source: the decision that nobody logs in as the owner and that the program has no right to change an event
(`ops.migrations.roles`).

Not here: rights on objects (`catalogue`), settings that hang on a role (`server`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ops.doctor.patient import Found, Patient

OWNER: Final = "dealproof_owner"
OURS: Final = (OWNER, "dealproof_app", "dealproof_reader", "dealproof_projector")

POWERS: Final = ("superuser", "createrole", "createdb", "bypassrls", "replication")


def examine_roles(patient: Patient) -> Found:
    """Attributes and memberships."""
    findings = [*_attributes(patient), *_memberships(patient), *_beside_grants(patient)]
    notes = [*_owners(patient), *_other_superusers(patient)]
    of_login = _login(patient)
    if of_login and patient.settings.database_url is None:
        notes.append(f"desk only: {of_login}, as the embedded server's one user is")
    elif of_login:
        findings.append(of_login)
    return Found(findings, notes)


def _attributes(patient: Patient) -> Iterator[str]:
    roles = {name: (can_login, powers) for name, can_login, *powers in patient.rows(_ATTRIBUTES, (list(OURS),))}
    for name in OURS:
        if name not in roles:
            yield f"role {name}: is missing"
            continue
        can_login, powers = roles[name]
        if can_login and name == OWNER:
            yield f"role {name}: can log in"
        for power, has in zip(POWERS, powers, strict=True):
            if has:
                yield f"role {name}: is {power}"


def _memberships(patient: Patient) -> Iterator[str]:
    """A role of ours has the rights that migrations give it and inherits none."""
    for member, role in patient.rows(_MEMBER_OF, (list(OURS),)):
        yield f"role {member}: is a member of {role}"


def _beside_grants(patient: Patient) -> Iterator[str]:
    """Roles of PostgreSQL's own that write without a grant, or as the server's own user."""
    for member, role in patient.rows(_BESIDE_GRANTS):
        yield f"role {member}: is a member of {role}, which gets around all grants"


def _owners(patient: Patient) -> Iterator[str]:
    for (member,) in patient.rows(_OWNERS, (OWNER,)):
        yield f"{member} is a member of {OWNER} and may switch the triggers off"


def _other_superusers(patient: Patient) -> Iterator[str]:
    for (name,) in patient.rows(_OTHER_SUPERUSERS):
        yield f"{name} is a superuser besides the server's first one"


def _login(patient: Patient) -> str | None:
    """What is too much in the login that we came in with; the role that we go on under may be less."""
    [(name, is_superuser, owns)] = patient.rows(_LOGIN, (OWNER,))
    if is_superuser:
        return f"the login in use, {name}, is a superuser"
    return f"the login in use, {name}, is a member of {OWNER}" if owns else None


_ATTRIBUTES: Final = """
select rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication
from pg_roles where rolname = any (%s)
"""

_MEMBER_OF: Final = """
select pg_get_userbyid(member), pg_get_userbyid(roleid) from pg_auth_members
where pg_get_userbyid(member) = any (%s) order by 1, 2
"""

_BESIDE_GRANTS: Final = """
select member.rolname, powerful.rolname from pg_roles as member join pg_roles as powerful
on powerful.rolname in ('pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program')
where pg_has_role(member.oid, powerful.oid, 'member') and not member.rolsuper and member.oid <> powerful.oid
order by 1, 2
"""

# PostgreSQL 16 notes who may administer a role as a member; it is one who can make himself a full one.
_OWNERS: Final = """
select rolname from pg_roles
where not rolsuper and rolname <> %s::text
and pg_has_role(oid, (select oid from pg_roles where rolname = 'dealproof_owner'), 'member')
order by 1
"""

_OTHER_SUPERUSERS: Final = "select rolname from pg_roles where rolsuper and oid <> 10 order by 1"

_LOGIN: Final = """
select session_user::text, rolsuper, not rolsuper and coalesce(
    pg_has_role(session_user, (select oid from pg_roles where rolname = %s), 'member'), false)
from pg_roles where rolname = session_user
"""
