import { type Fault, invalidField, invalidFields } from '@commonplace/kit/errors';
import { enumName } from '@commonplace/platform/enums';
import { ArtifactType, ContentFormat, ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { CreateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import type { NodeType } from '../domain/node.js';
import { ContentNotSupported } from '../errors.js';
import type { ContentInput } from './kind.js';

const NOTHING = Buffer.alloc(0);

/** A write without any content. */
export const NO_INPUT = plainInput(NOTHING, NOTHING, NOTHING);

function plainInput(content: Buffer, columns: Buffer, rows: Buffer): ContentInput {
  return {
    content,
    markdown: undefined,
    format: ContentFormat.UNSPECIFIED,
    html: undefined,
    document: NOTHING,
    mode: ContentMode.UNSPECIFIED,
    edits: [],
    columns,
    rows,
    typecast: false,
    keyColumnId: undefined,
    deleteRowIds: [],
    artifactType: ArtifactType.UNSPECIFIED,
    language: undefined,
    source: undefined,
    title: undefined,
    entry: undefined,
    assets: [],
  };
}

/** Returns the content that a creation request brings; undefined if it brings none. */
export function creationInput(
  { content, columns, rows }: Pick<CreateResourceRequest, 'content' | 'columns' | 'rows'>,
  type: NodeType,
): ContentInput | undefined {
  if (content.length === 0 && columns.length === 0 && rows.length === 0) return undefined;
  const input = plainInput(content, columns, rows);
  if (columns.length > 0 || rows.length > 0) requireOneSource(input, type);
  return input;
}

/** The fields that carry the content of a write, in groups: fields of one group may come together. */
const SOURCES: readonly { readonly types: readonly NodeType[]; given(input: ContentInput): string | undefined }[] = [
  { types: ['document', 'table', 'artifact', 'file'], given: ({ content }) => name('content', content.length > 0) },
  { types: ['document'], given: ({ markdown }) => name('markdown', markdown !== undefined) },
  { types: ['document'], given: ({ html }) => name('html', html !== undefined) },
  { types: ['document'], given: ({ document }) => name('document', document.length > 0) },
  { types: ['document'], given: ({ edits }) => name('edits', edits.length > 0) },
  { types: ['table'], given: tableField },
  { types: ['artifact'], given: artifactField },
];

function tableField({ columns, rows, keyColumnId, deleteRowIds }: ContentInput): string | undefined {
  return (
    name('columns', columns.length > 0) ??
    name('rows', rows.length > 0) ??
    name('delete_row_ids', deleteRowIds.length > 0) ??
    name('key_column_id', keyColumnId !== undefined)
  );
}

function artifactField(input: ContentInput): string | undefined {
  return (
    name('source', input.source !== undefined) ??
    name('artifact_type', input.artifactType !== ArtifactType.UNSPECIFIED) ??
    name('language', input.language !== undefined) ??
    name('title', input.title !== undefined) ??
    name('entry', input.entry !== undefined) ??
    name('assets', input.assets.length > 0)
  );
}

function name(field: string, given: boolean): string | undefined {
  return given ? field : undefined;
}

/**
 * Throws if a write brings its content twice, not at all, or in fields of another resource type. `snapshotId` counts as
 * a content too.
 */
export function requireOneSource(input: ContentInput, type: NodeType, snapshotId?: string): void {
  const given: string[] = snapshotId === undefined ? [] : ['snapshot_id'];
  for (const { types, given: asked } of SOURCES) {
    const field = asked(input);
    if (field === undefined) continue;
    if (!types.includes(type)) throw ContentNotSupported({ type }, { param: field });
    given.push(field);
  }
  if (given.length === 0) {
    const field = requiredField(input, type);
    throw invalidField(field, 'missing_field', `${field} is required.`);
  }
  const [first, ...others] = given;
  if (others.length > 0) {
    const message = `Send only one of ${given.join(' and ')}.`;
    throw invalidFields(others.map((param) => ({ param, code: 'conflicting_alias', message })));
  }
  requireMode(input, type, first as string);
}

/** Returns the field that a write in its mode cannot do without. */
function requiredField(input: ContentInput, type: NodeType): string {
  const mode = modeOf(input);
  if (type === 'document' && mode === ContentMode.EDIT) return 'edits';
  return type === 'table' && mode !== ContentMode.REPLACE ? 'rows' : 'content';
}

const MODES: Record<NodeType, readonly ContentMode[]> = {
  document: [ContentMode.REPLACE, ContentMode.EDIT, ContentMode.APPEND, ContentMode.PREPEND],
  table: [ContentMode.REPLACE, ContentMode.APPEND, ContentMode.UPSERT],
  artifact: [ContentMode.REPLACE],
  file: [],
  folder: [],
};

/** Returns the mode of a write; `replace` if it names none. */
export function modeOf({ mode }: Pick<ContentInput, 'mode'>): ContentMode {
  return mode === ContentMode.UNSPECIFIED ? ContentMode.REPLACE : mode;
}

/** Throws if the type does not support the mode, or if the mode does not fit what the write brings. */
function requireMode(input: ContentInput, type: NodeType, source: string): void {
  const mode = modeOf(input);
  const faults: Fault[] = [];
  if (!MODES[type].includes(mode) && MODES[type].length > 0) {
    faults.push(invalid('mode', `The type ${type} is written by ${MODES[type].map(modeName).join(', ')}.`));
  } else if (mode === ContentMode.EDIT && source !== 'edits') {
    faults.push({ param: 'edits', code: 'missing_field', message: 'edits is required for mode "edit".' });
  } else if (mode !== ContentMode.EDIT && source === 'edits') {
    faults.push(invalid('mode', 'must be edit if edits are sent.'));
  } else if (mode !== ContentMode.REPLACE && source === 'snapshot_id') {
    faults.push(invalid('mode', 'A snapshot can only replace the content.'));
  }
  if (faults.length > 0) throw invalidFields(faults);
}

/** Returns a mode's name in the API. */
export function modeName(mode: ContentMode): string {
  return enumName(mode, 'CONTENT_MODE');
}

function invalid(param: string, message: string): Fault {
  return { param, code: 'invalid_value', message };
}
