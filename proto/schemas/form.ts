import {
  closed,
  FLAG,
  KEY,
  line,
  listOf,
  NUMBER,
  orNull,
  ref,
  type Schema,
  sent,
  TEXT,
  TIME,
  UUID,
  whole,
} from './schema.js';

/** Types of a form's fields. */
export const FORM_FIELD_TYPES = [
  'short_text',
  'long_text',
  'email',
  'url',
  'phone',
  'number',
  'currency',
  'date',
  'datetime',
  'checkbox',
  'single_choice',
  'multi_choice',
  'dropdown',
  'rating',
  'scale',
  'file',
  'signature',
  'hidden',
  'statement',
] as const;

/** How the condition of a field, or of a table's filter, compares. */
export const OPERATORS = [
  'eq',
  'neq',
  'contains',
  'not_contains',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'empty',
  'not_empty',
  'before',
  'after',
] as const;

const SCALAR: Schema = { type: ['string', 'number', 'boolean'] };
const FIELD_TYPE: Schema = { type: 'string', enum: FORM_FIELD_TYPES };
const RESPONSES: Schema = { type: 'string', enum: ['none', 'account', 'client'] };
const EVENTS: Schema = { type: 'string', enum: ['form.submitted'] };
const MAPPING: Schema = {
  type: 'object',
  additionalProperties: TEXT,
  description: "Ids of fields by the names that another system uses in a hook's payload.",
};
const condition = (field: Schema, op: Schema) => ({
  field_id: { ...field, description: 'The field whose answer decides.' },
  op,
  value: {
    anyOf: [SCALAR, listOf(SCALAR)],
    description: 'Null with `empty` and `not_empty`; a list with `in`.',
  },
});
const OPERATOR: Schema = { type: 'string', enum: OPERATORS };
const CONDITION = condition(KEY, OPERATOR);

/** Fields of a form's field that an answer has as a request sent them. */
const FIELD = {
  help_text: line(2000),
  placeholder: line(255),
  default: { description: 'What the field holds before somebody answers it.' },
  min: NUMBER,
  max: NUMBER,
  min_length: whole(0, 100_000),
  max_length: whole(1, 100_000),
  pattern: line(500, { description: 'A regular expression that an answer matches as a whole.' }),
  max_files: whole(1, 10),
  accept: listOf(TEXT, { maxItems: 50, description: 'Media types such as `image/*`, and endings such as `.pdf`.' }),
};

/** Fields of a configuration that hold a text, a time or a number, or nothing. */
const CONFIG = {
  description: line(10_000),
  submit_label: line(100),
  success_message: line(2000),
  redirect_url: line(2000, { description: 'An https URL that the browser goes to after a submission.' }),
  language: line(35, { description: 'A language tag such as `en` or `pt-BR`.' }),
  close_at: TIME,
  max_submissions: whole(1, 1_000_000_000),
};

const nullable = (properties: Readonly<Record<string, Schema>>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, orNull(schema)]));

export const FORM_SCHEMAS: Readonly<Record<string, Schema>> = {
  FormConfig: {
    description: 'Title, fields and rules of a form.',
    ...closed(
      {
        title: TEXT,
        ...nullable(CONFIG),
        fields: listOf(ref('FormField')),
        one_response_per: RESPONSES,
        require_captcha: FLAG,
        allow_attachments: FLAG,
        collect: closed({ email: FLAG, user: FLAG }, ['email', 'user']),
        notify_user_ids: listOf(UUID),
        webhooks: listOf(ref('FormConfigWebhook')),
        mapping: MAPPING,
      },
      [
        ...['title', ...Object.keys(CONFIG), 'fields', 'one_response_per', 'require_captcha', 'allow_attachments'],
        ...['collect', 'notify_user_ids', 'webhooks', 'mapping'],
      ],
    ),
  },
  FormField: {
    description: 'A field of a form, in the order in which people see them.',
    ...closed(
      {
        id: KEY,
        column_id: { ...orNull(KEY), description: 'The column of the table that it fills; null for a statement.' },
        type: FIELD_TYPE,
        label: TEXT,
        required: FLAG,
        disabled: { ...FLAG, description: 'True where the column is gone or no longer takes what the field asks for.' },
        ...nullable(FIELD),
        options: orNull(listOf(ref('FormFieldOption'))),
        visible_if: orNull(ref('FormCondition')),
      },
      [
        ...['id', 'column_id', 'type', 'label', 'required', 'disabled'],
        ...[...Object.keys(FIELD), 'options', 'visible_if'],
      ],
    ),
  },
  FormFieldOption: closed({ id: TEXT, label: TEXT, value: TEXT }, ['id', 'label', 'value']),
  FormCondition: {
    description: 'Shows a field only where it holds.',
    ...closed({ ...CONDITION, value: orNull(CONDITION.value) }, ['field_id', 'op', 'value']),
  },
  FormConfigWebhook: closed(
    {
      id: TEXT,
      url: TEXT,
      events: listOf(EVENTS),
      is_active: FLAG,
      disabled_reason: { type: ['string', 'null'], description: 'Why deliveries were switched off.' },
      secret_hint: { type: 'string', description: 'The end of the signing secret.' },
    },
    ['id', 'url', 'events', 'is_active', 'disabled_reason', 'secret_hint'],
  ),
  FormConfigInput: {
    description: 'Title, fields and rules of a form. Without `fields` it has one for each column that people can fill.',
    ...sent(
      {
        title: line(200, { minLength: 1 }),
        ...CONFIG,
        fields: listOf(ref('FormFieldInput'), { minItems: 1, maxItems: 100 }),
        one_response_per: RESPONSES,
        require_captcha: FLAG,
        allow_attachments: FLAG,
        collect: sent({ email: FLAG, user: FLAG }),
        notify_user_ids: listOf(UUID, { maxItems: 50 }),
        webhooks: listOf(ref('FormConfigWebhookInput'), { maxItems: 5 }),
        mapping: MAPPING,
      },
      ['title'],
    ),
  },
  FormFieldInput: {
    description: 'A field of a form. `name` and `title` are other spellings of `label`; one of the three is needed.',
    ...sent({
      id: KEY,
      column_id: KEY,
      type: FIELD_TYPE,
      label: line(1000),
      name: line(1000),
      title: line(1000),
      required: FLAG,
      disabled: { description: 'Taken as an answer has it, and ignored.' },
      ...FIELD,
      options: listOf({ anyOf: [TEXT, ref('FormFieldOptionInput')] }, { maxItems: 500 }),
      visible_if: ref('FormConditionInput'),
    }),
    anyOf: ['label', 'name', 'title'].map((name) => ({ required: [name], properties: { [name]: TEXT } })),
  },
  FormFieldOptionInput: {
    description: 'A choice; `value` is what is stored, and `label` what people read.',
    ...sent({ id: KEY, label: line(255), value: line(255) }),
  },
  FormConditionInput: sent(condition(line(64), OPERATOR), ['field_id']),
  FormConfigWebhookInput: {
    description: 'Where submissions are delivered. Without `secret` a new URL gets one, and a known URL keeps its own.',
    ...sent(
      {
        url: line(2000, { minLength: 1 }),
        secret: line(200),
        events: listOf(EVENTS, { minItems: 1, maxItems: 20 }),
        is_active: FLAG,
        ...Object.fromEntries(
          ['id', 'secret_hint', 'disabled_reason'].map((name) => [
            name,
            { description: 'Taken as an answer has it, and ignored.' },
          ]),
        ),
      },
      ['url'],
    ),
  },
};
