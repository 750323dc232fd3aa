import { line, type Schema } from './schema.js';

/** Texts, and objects of texts, that follow a rule of their own. The service that owns a field enforces it. */
export const TEXT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Slug: line(80, {
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    description: 'Lower-case letters and digits, with single hyphens between them.',
  }),
  PublicationSlug: line(255, {
    pattern: '^[a-z0-9-]{3,80}$',
    description: '3 to 80 lower-case letters, digits and hyphens.',
  }),
  SkillName: line(64, {
    pattern: '^[a-z0-9](-?[a-z0-9])*$',
    description: 'Lower-case letters and digits, with single hyphens between them.',
  }),
  HeaderName: line(64, {
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    description: 'Name of an HTTP header.',
  }),
  ApiPath: line(32_768, {
    pattern: '^/api/v1/[!"$-\\[\\]-~]*$',
    description: 'Path of the API with its query, in ASCII, without a fragment, backslashes and segments of dots.',
  }),
  FilledText: line(8000, {
    pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    description: 'Text with at least one character that is not white space.',
  }),
  Sha256: { type: 'string', pattern: '^[0-9a-fA-F]{64}$', description: 'SHA-256 of the bytes in hexadecimal.' },
  HostName: line(253, { minLength: 1, format: 'idn-hostname' }),
  TagColor: line(32, {
    pattern: '^(#[0-9a-f]{6}|[a-z][a-z_-]*)$',
    description: '`#rrggbb` in lower case, or the name of a colour.',
  }),
  AuditAction: line(64, {
    pattern: '^[a-z_]+(\\.([a-z_]+)?)?$',
    description: 'An action such as `api_key.created`, or all that begin with `api_key.` where it ends in a dot.',
  }),
  SearchQuery: line(1000, {
    pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    description: 'Words to search for: at least one character that is not white space.',
  }),
  MetadataFilter: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    maxProperties: 50,
    description: 'Values that metadata has, by its keys.',
  },
  Credits: {
    type: 'string',
    pattern: '^\\d{1,9}(\\.\\d{1,6})?$',
    description: 'Credits, with up to six decimal places.',
  },
  UserMap: {
    type: 'object',
    additionalProperties: line(320),
    maxProperties: 10_000,
    description: 'Ids or e-mail addresses of members, by names and e-mail addresses of the source.',
  },
};
