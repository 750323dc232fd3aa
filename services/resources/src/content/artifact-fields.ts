import type { Fault } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { type Breathe, parseJsonInSlices } from '@commonplace/kit/slices';
import { isLongerThan } from '@commonplace/kit/words';
import { enumName } from '@commonplace/platform/enums';
import { ArtifactType } from '@commonplace/proto/resources/v1/content_service.js';
import type { ContentInput } from './kind.js';

export interface ArtifactFields {
  readonly type: ArtifactType;
  readonly language?: string | undefined;
  readonly source: string;
  readonly title?: string | undefined;
  readonly entry?: string | undefined;
  readonly assets: readonly { readonly name: string; readonly resourceId: string }[];
}

interface ParsedFields {
  readonly fields: ArtifactFields;
  readonly faults: Fault[];
  /** Prefix of the field names in `faults`: `content.` for fields that came nested in `content`, otherwise empty. */
  readonly prefix: string;
}

/** Parses the artifact fields of a write, which come either at its top level or in `content`. Parses with pauses. */
export async function artifactFields(
  input: ContentInput,
  typeBefore: ArtifactType,
  breathe: Breathe,
): Promise<ParsedFields> {
  if (input.content.length > 0) return nested(await parseJsonInSlices(input.content, breathe), typeBefore);
  const { artifactType, language, source, title, entry, assets } = input;
  const faults: Fault[] = source === undefined ? [fault('source', 'missing_field', 'source is required.')] : [];
  const type = artifactType === ArtifactType.UNSPECIFIED ? typeBefore : artifactType;
  const fields = { type, language, source: source ?? '', title, entry, assets: assets.map((asset) => ({ ...asset })) };
  return { fields, faults, prefix: '' };
}

const NAMES = ['artifact_type', 'language', 'source', 'title', 'entry', 'assets'];
const TYPES: ReadonlyMap<string, ArtifactType> = new Map(
  Object.values(ArtifactType)
    .filter((type) => type !== ArtifactType.UNSPECIFIED)
    .map((type) => [enumName(type, 'ARTIFACT_TYPE'), type]),
);

/** Parses and validates the fields from free-form JSON that has not been validated yet. */
function nested(json: unknown, typeBefore: ArtifactType): ParsedFields {
  const prefix = 'content.';
  const faults: Fault[] = [];
  const complain = (name: string, code: string, message: string) => faults.push(fault(prefix + name, code, message));
  if (typeof json === 'string') json = { source: json };
  const given = json as Record<string, unknown>;
  for (const name of Object.keys(given)) {
    if (!NAMES.includes(name)) complain(name, 'unknown_field', `An artifact has no field ${name}.`);
  }
  const text = (name: string, maxChars: number): string | undefined => {
    const value = given[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') complain(name, 'invalid_type', `${name} must be a string.`);
    else if (isLongerThan(value, maxChars))
      complain(name, 'invalid_value', `${name} may have at most ${maxChars} characters.`);
    else return value;
    return undefined;
  };
  const asked = text('artifact_type', 64);
  const type = asked === undefined ? typeBefore : TYPES.get(asked);
  if (type === undefined)
    complain('artifact_type', 'invalid_value', `artifact_type must be one of ${[...TYPES.keys()].join(', ')}.`);
  if (given.source === undefined || given.source === null) complain('source', 'missing_field', 'source is required.');
  const fields = {
    type: type ?? typeBefore,
    language: text('language', 64),
    source: text('source', Number.POSITIVE_INFINITY) ?? '',
    title: text('title', 255),
    entry: text('entry', 255),
    assets: assetsIn(given.assets, complain),
  };
  return { fields, faults, prefix };
}

const MAX_ASSETS = 100;

function assetsIn(given: unknown, complain: (name: string, code: string, message: string) => void) {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) {
    complain('assets', 'invalid_type', 'assets must be an array.');
    return [];
  }
  if (given.length > MAX_ASSETS)
    complain('assets', 'too_many_items', `An artifact may have at most ${MAX_ASSETS} assets.`);
  return given.slice(0, MAX_ASSETS).flatMap((asset: unknown, i) => {
    const { name, resource_id: resourceId } = (asset ?? {}) as Record<string, unknown>;
    const named = typeof name === 'string' && name !== '' && !isLongerThan(name, 255);
    if (!named) complain(`assets[${i}].name`, 'invalid_value', 'name must be a string of 1 to 255 characters.');
    const known = typeof resourceId === 'string' && isUuid(resourceId);
    if (!known) complain(`assets[${i}].resource_id`, 'invalid_value', 'resource_id must be a UUID.');
    return named && known ? [{ name, resourceId }] : [];
  });
}

function fault(param: string, code: string, message: string): Fault {
  return { param, code, message };
}
