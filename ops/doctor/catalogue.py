"""The schema of the journal as PostgreSQL keeps it, held against what this version's migrations make.

Everything in the schema `dealproof` is written down as lines: kind, name, definition.  `catalogue.json` has the lines
of a freshly migrated database (`python -m tests.ops.doctor.write_catalogue` writes it, a test holds it).  Complete by
construction: a line more, a line less or another line is a finding, whatever it is.

The definitions are the same from PostgreSQL 15 on.

Not here: roles (`roles`), rows (`journal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import psycopg

from ops.database import newest_revision
from ops.doctor.patient import Found, Patient

FILE: Final = Path(__file__).with_name("catalogue.json")

Catalogue = dict[str, dict[str, str]]
"""Kind -> name -> definition: parts with "; " between them."""


class Expected(msgspec.Struct):
    """What the migrations up to a revision make."""

    revision: str
    catalogue: Catalogue


GRANTS: Final = ("grant", "owner", "default privilege")
TRIGGERS: Final = ("trigger", "rule", "policy", "event trigger", "inheritance", "subscription")
FUNCTIONS: Final = ("function", "foreign function")
SCHEMA: Final = ("table", "column", "constraint", "index", "type")


def examine_grants(patient: Patient) -> Found:
    """Rights and owners."""
    return _examine(patient, GRANTS)


def examine_triggers(patient: Patient) -> Found:
    """Triggers, and all else that may act on a statement."""
    return _examine(patient, TRIGGERS)


def examine_functions(patient: Patient) -> Found:
    """Bodies, settings and security of the functions."""
    return _examine(patient, FUNCTIONS)


def examine_schema(patient: Patient) -> Found:
    """Tables, columns, constraints, indexes."""
    return _examine(patient, SCHEMA)


def examine_revision(patient: Patient) -> Found:
    """Whether the database stands where this program's migrations end."""
    stands = revision_of(patient.connection)
    if stands == newest_revision():
        return Found()
    return Found([f"the database is at revision {stands or 'none'}, should be {newest_revision()}"])


def revision_of(connection: psycopg.Connection[Any]) -> str:
    """What Alembic's table says: one number, unless somebody changed it."""
    rows = connection.execute("select version_num from dealproof.alembic_version order by 1")
    return " and ".join(revision for (revision,) in rows)


def expected() -> Expected:
    """The lines of a freshly migrated database."""
    return msgspec.json.decode(FILE.read_bytes(), type=Expected)


def read_catalogue(connection: psycopg.Connection[Any]) -> Catalogue:
    """The lines of a database.  Its search path must be `pg_catalog`: PostgreSQL leaves out the schemas of the path."""
    catalogue: Catalogue = {}
    for kind, name, definition in connection.execute(_CATALOGUE):
        catalogue.setdefault(kind, {})[str(name)] = str(definition)
    return catalogue


def differences(found: Catalogue, wanted: Catalogue, kinds: Iterable[str]) -> Iterator[str]:
    """Each name that is too much, missing or defined otherwise, as a line."""
    for kind in kinds:
        here, there = found.get(kind, {}), wanted.get(kind, {})
        for name in sorted({*here, *there}):
            if name not in there:
                yield f"{kind} {name}: is not of this version" + (f" ({here[name]})" if here[name] else "")
            elif name not in here:
                yield f"{kind} {name}: is missing"
            elif here[name] != there[name]:
                is_here, should_be = _apart(here[name], there[name]), _apart(there[name], here[name])
                yield f"{kind} {name}: is {is_here}, should be {should_be}"


def _apart(one: str, other: str) -> str:
    """The parts of a definition that another lacks."""
    return "; ".join(part for part in one.split("; ") if part not in other.split("; ")) or "without it"


def _examine(patient: Patient, kinds: Iterable[str]) -> Found:
    wanted = expected()
    if revision_of(patient.connection) != wanted.revision:
        return Found(unchecked=[f"the database is not at revision {wanted.revision}, which this program knows"])
    return Found(list(differences(read_catalogue(patient.connection), wanted.catalogue, kinds)))


# Not null stands in its column: PostgreSQL 18 lists it among the constraints, the others don't.  What the owner may do
# with his own is left out: it is all there is, and PostgreSQL 17 added to it.
_CATALOGUE: Final = """
with relation as (
    select c.relname as name, c.* from pg_class as c
    where c.relnamespace = 'dealproof'::regnamespace and c.relkind not in ('i', 'I', 't')
),
routine as (
    select p.*, concat(p.proname, '(', oidvectortypes(p.proargtypes), ')') as name from pg_proc as p
    where p.pronamespace = 'dealproof'::regnamespace
),
own_type as (
    select t.* from pg_type as t
    where t.typnamespace = 'dealproof'::regnamespace and t.typrelid = 0 and t.typcategory <> 'A'
),
acl (object, owner, entries) as (
    select 'schema', nspowner, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace where nspname = 'dealproof'
    union all
    select concat('table ', name), relowner,
        coalesce(relacl, acldefault(case relkind when 'S' then 's'::"char" else 'r' end, relowner))
    from relation
    union all
    select concat('column ', name, '.', attname), relowner, attacl
    from relation join pg_attribute on attrelid = relation.oid where attacl is not null
    union all
    select concat('function ', name), proowner, coalesce(proacl, acldefault('f', proowner)) from routine
    union all
    select concat('type ', typname), typowner, coalesce(typacl, acldefault('T', typowner)) from own_type
)
select 'table' as kind, name::text as name, concat_ws('; ',
    case relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'S' then 'sequence'
        when 'm' then 'materialized view' when 'f' then 'foreign table' else concat('relation of kind ', relkind) end,
    case relpersistence when 'p' then 'logged' when 'u' then 'unlogged' else 'temporary' end,
    case when relrowsecurity then 'row security' end, case when relforcerowsecurity then 'forced row security' end
) as definition
from relation
union all
select 'column', concat(name, '.', attname), concat_ws('; ',
    format_type(atttypid, atttypmod), case when attnotnull then 'not null' else 'nullable' end,
    'collation ' || nullif(collname, 'default'), 'default ' || pg_get_expr(adbin, adrelid),
    case when attgenerated <> '' then 'generated' end, case when attidentity <> '' then 'identity' end)
from relation join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
left join pg_collation on pg_collation.oid = attcollation
left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select 'constraint', concat(coalesce(relation.name, 'domain'), '.', conname), pg_get_constraintdef(pg_constraint.oid)
from pg_constraint left join relation on relation.oid = conrelid
where connamespace = 'dealproof'::regnamespace and contype <> 'n'
union all
select 'index', concat(name, '.', own_index.relname), concat_ws('; ', pg_get_indexdef(indexrelid),
    case when not (indisvalid and indisready and indislive) then 'invalid' end)
from relation join pg_index on indrelid = relation.oid join pg_class as own_index on own_index.oid = indexrelid
union all
select 'type', typname, concat_ws('; ', typtype, 'of ' || nullif(format_type(typbasetype, typtypmod), '-'))
from own_type
union all
select 'trigger', concat(name, '.', tgname), concat_ws('; ', pg_get_triggerdef(pg_trigger.oid),
    case tgenabled when 'A' then 'enabled always' when 'O' then 'enabled, but not in a session that plays a replica'
        when 'D' then 'disabled' else 'enabled for replicas only' end)
from relation join pg_trigger on tgrelid = relation.oid
union all
select 'rule', concat(name, '.', rulename), pg_get_ruledef(pg_rewrite.oid)
from relation join pg_rewrite on ev_class = relation.oid
union all
select 'policy', concat(name, '.', polname), '' from relation join pg_policy on polrelid = relation.oid
union all
select 'event trigger', evtname, concat_ws('; ', evtevent, evtfoid::regproc::text,
    case when evtenabled = 'D' then 'disabled' end)
from pg_event_trigger
union all
select 'inheritance', concat(inhrelid::regclass::text, ' of ', inhparent::regclass::text), ''
from pg_inherits where inhrelid in (select oid from relation) or inhparent in (select oid from relation)
union all
-- It may write into any table here, and no grant of ours speaks of it.
select 'subscription', subname, case when not subenabled then 'disabled' else '' end
from pg_subscription join pg_database on pg_database.oid = subdbid where datname = current_database()
union all
select 'function', name, concat_ws('; ', concat('body sha256 ', encode(sha256(convert_to(prosrc, 'UTF8')), 'hex')),
    lanname, concat('kind ', prokind), concat('volatility ', provolatile), concat('parallel ', proparallel),
    case when prosecdef then 'security definer' else 'security invoker' end,
    case when proisstrict then 'strict' end, case when proleakproof then 'leakproof' end,
    coalesce(array_to_string(proconfig, '; '), 'no settings of its own'),
    nullif(pg_get_function_arguments(routine.oid), ''),
    concat('returns ', pg_get_function_result(routine.oid)))
from routine join pg_language on pg_language.oid = prolang
union all
-- Our functions call those of pg_catalog; one that PostgreSQL did not bring may stand before the one that is meant.
select 'foreign function', concat('pg_catalog.', proname, '(', oidvectortypes(proargtypes), ')'), ''
from pg_proc
where pronamespace = 'pg_catalog'::regnamespace and oid >= 16384
and not exists (
    select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
union all
select 'owner', 'schema', pg_get_userbyid(nspowner) from pg_namespace where nspname = 'dealproof'
union all
select 'owner', concat('table ', name), pg_get_userbyid(relowner) from relation
union all
select 'owner', concat('function ', name), pg_get_userbyid(proowner) from routine
union all
select 'owner', concat('type ', typname), pg_get_userbyid(typowner) from own_type
union all
select 'grant', concat(object, ': ', privilege_type, ' to ',
    case grantee when 0 then 'PUBLIC' else pg_get_userbyid(grantee) end),
    case when bool_or(is_grantable) then 'with grant option' else '' end
from acl cross join aclexplode(entries) where grantee <> owner
group by object, privilege_type, grantee
union all
select 'default privilege', concat_ws(' ', 'of', pg_get_userbyid(defaclrole), 'on objects of kind', defaclobjtype,
    'in schema ' || nspname), array_to_string(defaclacl, ', ')
from pg_default_acl left join pg_namespace on pg_namespace.oid = defaclnamespace
where nspname = 'dealproof' or (defaclnamespace = 0 and pg_get_userbyid(defaclrole) = 'dealproof_owner')
"""
