"""What Schemathesis has to know of the API beyond its OpenAPI document.

OpenAPI describes each parameter by itself and each body by its shape. Rules that join a parameter to another one, or a value to
a record or to the clock, can only be told in words there. The API answers a request that breaks one with 400 and a code. RULES
lists these codes with the fields that they may name and the reason. Any other 400 for a request that the document allows is a
finding.
"""

import json
import os
import re
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from jsonschema_rs import is_valid

# Code, pattern of the field at fault (None: no field is), and the rule that a schema can't tell.
RULES = [
    ("invalid_pagination", "cursor|offset|limit", "`cursor` excludes `offset`, and is the `next_cursor` of a page of the same list"),
    ("offset_too_deep", "offset", "`offset` and `limit` together are at most 10,000"),
    ("conflicting_alias", "base_version", "`If-Match` and `base_version` ask for the same version"),
    ("invalid_id", "request_id", "a link takes the id of an answer for that of an access request"),
    ("missing_field", "org_id", "a memory of an Org names it, unless the credential does"),
    # What a request may say depends on the type of the resource that its path names.
    ("not_a_table", None, "the endpoint is for tables"),
    ("not_a_document", None, "the endpoint is for documents"),
    ("not_a_file", None, "the endpoint is for files"),
    ("invalid_type", "content", "a content is a text or an object by the type of the resource"),
    ("content_not_supported", ".*", "content fits the type of the resource"),
    ("unsupported_format", ".*", "the format fits the type of the resource or the source of the import"),
    ("parent_not_container", "parent_id|target_parent_id", "a parent is a resource that can hold others"),
    ("use_files_endpoint", ".*", "files are created by POST /files"),
    ("workspace_required", "workspace_id|agent_id", "a credential of several workspaces needs the workspace, in a header or the body"),
    ("missing_field", "(content|columns|rows|edits|source)(\\..*)?", "which fields a content needs depends on the type of the resource"),
    ("conflicting_alias|missing_field", "content|markdown|html|document|edits|columns|rows|delete_row_ids|key_column_id|snapshot_id|artifact_type|source|title|language|entry|assets", "one content is sent, in the spelling of the resource's type"),
    ("invalid_value", "diff_to", "a state of a content is `current` or the id of a snapshot"),
    ("invalid_value", "mode|format|delete_row_ids|key_column_id|typecast", "modes fit the type of the resource"),
    ("missing_field|invalid_type|invalid_value", "config(\\..*)?|credentials(\\..*)?", "a connector's configuration and credentials are read by its `type`; a form's by the columns of its table"),
    ("url_not_allowed|invalid_url", ".*", "a URL leads to a public address"),
    # Names that the resource of the path or the workspace defines.
    ("unknown_field|invalid_webhook_payload", "(values|answers|payload)(\\..*)?", "the form has the fields"),
    ("invalid_webhook_payload", None, "the payload has what the form's webhook maps"),
    ("missing_field|invalid_value|invalid_type", "(values|answers)(\\..*)?", "answers fit the form's fields"),
    ("invalid_filter", ".*", "a filter names columns of this table"),
    ("unknown_column", ".*", "a row names columns of this table"),
    ("cell_invalid", ".*", "a cell has a value of its column's type"),
    ("empty_columns", ".*", "a table has a column"),
    ("duplicate_column_id", ".*", "ids of columns differ"),
    ("invalid_value", "(columns|content\\.columns|tree\\[\\d+\\].*\\.columns)\\[.*", "options of a column name columns and tables that exist"),
    ("missing_field", "org_id", "an Org key needs its Org, unless the credential is of one"),
    ("invalid_value", "tag_id|tag_ids\\[\\d+\\]|tags\\[\\d+\\]", "the tag is one of the workspace"),
    ("invalid_value", "position(\\..*)?", "the neighbour is a child of the same parent"),
    ("invalid_value", "image_file_id|avatar_file_id", "the file is an image of the workspace"),
    ("invalid_value", "default_role", "only a workspace of an Org has a role for everybody of it"),
    ("invalid_value", "parent_id", "the parent is a resource of the workspace"),
    ("invalid_value", "transfer_to_member_id", "who takes over is another active member"),
    ("invalid_value", "resource_id|item\\.id|order.*", "the resource is in the workspace"),
    ("invalid_value", "grants\\[\\d+\\]|(grants\\[\\d+\\]\\.)?principal_type", "grants name different principals, and an Org only where the workspace is in one"),
    ("ambiguous_target", "permission_id", "two selectors name the same permission"),
    ("ambiguous_target", "resource_id|item|pin_id", "two selectors name the same item"),
    ("missing_field", "password", "a publication that is for readers with a password has one"),
    ("missing_field", "messages|append_messages", "what is to be answered ends with a question"),
    ("invalid_value", "visibility", "an agent that is shared with an Org belongs to one"),
    # Batches: how calls refer to each other, and what HTTP can carry.
    ("invalid_value", "requests\\[\\d+\\]\\.(id|depends_on\\[\\d+\\])", "ids of calls differ, and a call depends on calls before it"),
    ("invalid_value", "requests\\[\\d+\\]\\.(headers\\..*|body)", "a call has headers of a list, and a GET has no body"),
    ("invalid_value", "requests\\[\\d+\\]\\.path", "a path has no segments of dots"),
    # Automations: what a trigger and an action need depends on their type, and actions refer to each other and to secrets.
    ("missing_field|unknown_field|invalid_value", "trigger(\\.config(\\..*)?)?", "the config of a trigger has what its type needs"),
    ("missing_field|unknown_field|invalid_type|invalid_value|invalid_template|url_not_allowed", "actions(\\[\\d+\\].*)?", "an action has what its type needs, and names what comes before it"),
    ("missing_field|unknown_field|invalid_type|invalid_value|invalid_template|ambiguous_target", "conditions\\[\\d+\\].*", "a condition has a path, an operator and a value of its kind, or `any` alone"),
    ("missing_field|invalid_value", "secrets\\[\\d+\\].*", "a secret that is new has a value, and each the hosts to which it may be sent"),
    ("invalid_value", "rotate_webhook_token", "a token is that of a webhook trigger"),
    # Work items.
    ("invalid_value", "assignee_id|parent_id", "a filter is an id, or `me` and `root`"),
    ("invalid_value", "auto_run", "a run is of the agent to which the work item is assigned"),
    ("invalid_value", "before_id|after_id", "the neighbour is a work item with the same parent"),
    ("ambiguous_target", "position|before_id|after_id", "one place is named"),
    ("too_many_items", "resource_ids", "with the resources that others have added there are no more than 200"),
    # Conversations and messages.
    ("missing_field|invalid_value", "name|topic|icon|member_ids", "a channel has a name, and a direct conversation has one other person and no name"),
    ("missing_field|invalid_value|ambiguous_target", "(mentions|members)\\[\\d+\\]\\.(id|user_id|agent_id|role)", "a mention names a member, and a member is a person or an agent"),
    ("too_many_items", "attachments|mentions", "the limits on attachments and mentions are settings"),
    ("missing_field|conflicting_alias", "text", "a message has words or an attachment, in one spelling"),
    ("direct_conversation", None, "a direct conversation has two members for good"),
    ("invalid_value", "role|(add_member_ids|remove_member_ids|member_roles)\\[\\d+\\](\\.role)?", "an agent is a plain member, and nobody is named twice"),
    ("invalid_value", "muted_until", "a conversation is muted until a time in the future"),
    ("invalid_pagination", "around_seq", "`around_seq` excludes `cursor` and `offset`"),
    # Schedules.
    ("missing_field|invalid_type|invalid_value|unknown_field", "input(\\..*)?", "an agent needs a text, and an automation an object"),
    ("invalid_cron", "cron", "a pattern is one of cron that fires within eight years, at most every five minutes for an agent"),
    ("invalid_value", "interval_seconds|run_at|start_at|end_at|max_runs", "a schedule has a time in the future at which it fires"),
    ("invalid_value", "deliver_to|workspace_id|(target\\.)?id|agent_id|automation_id", "the target is in the workspace, and only agents deliver"),
    # Values that JSON Schema has no keyword for.
    ("invalid_value", "from|to", "a range of usage ends after it begins, and is at most 400 days long"),
    ("invalid_value", "(grants\\[\\d+\\]\\.)?expires_at", "a time is in the future"),
    ("invalid_value", "reactions\\[\\d+\\]", "a reaction is one emoji"),
    ("invalid_value", "custom_domains\\[\\d+\\]|settings\\.allowed_email_domains\\[\\d+\\]", "a domain is a valid host name"),
    ("invalid_url", "settings\\.url_allowlist\\[\\d+\\]", "an entry is a host or a URL"),
    ("invalid_value", "settings\\.(locale|search_languages\\[\\d+\\])", "a language tag is one of BCP 47"),
    ("invalid_timezone", ".*", "a time zone is one of the IANA list"),
    ("invalid_value", "ip_allowlist\\[\\d+\\]", "an entry is a network in CIDR notation"),
    ("invalid_value", "content_base64|content|options\\.csv\\.encoding", "Base64 and names of encodings are valid"),
    ("invalid_value", "options\\.csv\\.delimiter", "a delimiter is neither a quotation mark nor a line end"),
    ("payload_too_large", ".*", "decoded content has a size limit"),
    ("invalid_value", ".*", "texts inside free-form JSON have neither NUL nor unpaired surrogates"),
    ("invalid_value", ".*", "lines have more than characters above U+FFFF that cannot be seen, which patterns of some languages cannot name"),
]
# The first words of the reasons of rules that hold for any field, and what the message says then.
MESSAGES = {
    "texts inside": "must not have NUL characters or halves of surrogate pairs",
    "lines have": "must have a character that can be seen",
}

# The coverage phase multiplies the alternatives of nested schemas: 28 types of blocks, each of which holds blocks again, would be
# millions of cases. In its run, a block and what stands in a text hold nothing, but for the two that hold all kinds of
# inline nodes and marks. The fuzzing phase nests them as the document allows.
IS_COVERAGE = os.environ.get("FUZZ_PHASES") == "coverage"
HOLDERS = {"Paragraph", "CodeBlock", "Text"}
EMPTY = {"type": ["array", "null"], "maxItems": 0}
# Positive cases of one operation in the coverage phase; after these, every twentieth is sent. An object that needs one of n fields
# is combined with each of the n.
ALL_OBJECTS = 300
OBJECT_STEP = 20
_objects = Counter()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Ends the recursion of documents for the coverage phase."""
    if not IS_COVERAGE:
        return
    for name, schema in raw_schema["components"]["schemas"].items():
        node = re.fullmatch(r"Document(\w+)(Block|Inline)Input", name)
        if node is None or node[1] in HOLDERS:
            continue
        for field in {"content", "marks"} & schema.get("properties", {}).keys():
            schema["properties"][field] = EMPTY


# Ids of existing records, by the names of the path parameters that accept them.
IDS = json.loads(os.environ.get("FUZZ_IDS", "{}"))
# Headers that narrow a credential to a tenant or a workspace. The coverage phase sends every header in every case, and with
# made-up ids in these two each answer would be 403.
NARROWING = ("X-Tenant", "X-Workspace-Id")
_turn = Counter()


@schemathesis.hook
def map_case(context, case):
    """Gives the cases of the coverage phase existing ids in their paths, and the whole credential, unless a case tests just these."""
    if not IS_COVERAGE:
        return case
    tested = case.meta.phase.data.parameter
    for name in NARROWING:
        if name != tested and case.headers is not None:
            case.headers.pop(name, None)
    for name in case.path_parameters or {}:
        if name != tested and name in IDS:
            _turn[name] += 1
            case.path_parameters[name] = IDS[name][_turn[name] % len(IDS[name])]
    return case


@schemathesis.hook
def filter_case(context, case):
    """Limits the positive cases of one operation in the coverage phase."""
    if not IS_COVERAGE or not case.meta.generation.mode.is_positive:
        return True
    _objects[case.operation.label] += 1
    count = _objects[case.operation.label]
    return count <= ALL_OBJECTS or count % OBJECT_STEP == 0


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops the two findings that are decisions: a method that a path lacks is 404, and the rules above are 400."""
    if failure.code == "ST204":
        # The specification's client errors are 400, 401, 403, 404, 409 and 429 alone.
        return response.status_code not in (401, 404)
    if failure.code != "ST202" or response.status_code != 400:
        return True
    if _breaks_parameter_rules(case, response):
        return False
    error = response.json()["error"]
    details = error["details"] if isinstance(error["details"], list) else [error]
    return not all(_is_rule(fault) for fault in details)


def _is_rule(fault):
    code, param = fault["code"], fault.get("param")
    for codes, params, reason in RULES:
        if not re.fullmatch(codes, code):
            continue
        if params is None and param is None:
            return True
        message = next((text for words, text in MESSAGES.items() if reason.startswith(words)), None)
        if message is not None:
            if message in fault["message"]:
                return True
            continue
        if params is not None and re.fullmatch(params, param or "", re.DOTALL):
            return True
    return False


def _breaks_parameter_rules(case, response):
    """Whether query parameters exclude each other or one is missing, which OpenAPI can't tell but in an extension."""
    rules = case.operation.definition.raw.get("x-parameter-rules")
    if rules is None:
        return False
    parameters = case.operation.definition.raw["parameters"]
    lists = {one["name"] for one in parameters if one.get("schema", {}).get("type") == "array"}
    given = {}
    for name, value in parse_qsl(urlsplit(response.request.url).query):
        given[name] = value.split(",") if name in lists else {"true": True, "false": False}.get(value, value)
    return not is_valid(rules, given)
