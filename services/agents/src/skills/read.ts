import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Fault } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type Breathe, createBreathe, jsonPiecesOf } from '@commonplace/kit/slices';
import { isLongerThan } from '@commonplace/kit/words';
import type { SkillFile } from '@commonplace/proto/agents/v1/skill.js';
import type { SkillInput } from '@commonplace/proto/agents/v1/skill_service.js';
import type { Settings } from '../config.js';
import type { ReadSkillMd, SkillMd } from '../domain/skill-md.js';
import type { SkillFiles } from '../skill-files/index.js';
import type { AgentRecord, PinnedSkill } from '../stores/agents.js';
import type { SkillContentRecord, StoredSkillFile } from '../stores/skills.js';

/** A skill in a request. */
export interface GivenSkill {
  readonly skill: PinnedSkill;
  /** The content to be stored; absent for a skill that stays as it is. */
  readonly stored?: StoredContent;
}

type StoredContent = Pick<SkillContentRecord, 'hash' | 'content' | 'files'>;

type Limits = Pick<Settings, 'skillFiles' | 'skillBytes' | 'skillFileBytes' | 'skillFilesBytes'>;

const NAME = /^[a-z0-9-]{1,64}$/;
const MAX_DESCRIPTION = 1_024;
const MAX_METADATA_BYTES = 4_096;
const MAX_TOOLS = 50;

/** The parameters for reading skills: their agent, their limits, and the reader of `SKILL.md` files. */
export interface Reading {
  readonly agent: Pick<AgentRecord, 'tenant' | 'skills'>;
  readonly limits: Limits;
  readonly skillFiles: Pick<SkillFiles, 'read'>;
}

/** Reads the full list of an agent's skills, with pauses. An unchanged skill keeps its time of update. */
export async function readSkills(
  inputs: readonly SkillInput[],
  { agent, limits, skillFiles }: Reading,
  faults: Fault[],
): Promise<GivenSkill[]> {
  const seen = { names: new Set<string>(), ids: new Set<string>() };
  const texts = inputs.flatMap(({ skillMd }) => skillMd ?? []);
  const read = texts.length > 0 ? await skillFiles.read(agent.tenant, texts) : [];
  const files = read[Symbol.iterator]();
  const breathe = createBreathe();
  const skills: GivenSkill[] = [];
  for (const [i, input] of inputs.entries()) {
    await breathe();
    const at = `skills[${i}]`;
    const add = (field: string, code: string, message: string) =>
      faults.push({ param: `${at}.${field}`, code, message });
    const found = input.skillMd === undefined ? undefined : (files.next().value as ReadSkillMd);
    if (found !== undefined && 'fault' in found) add('skill_md', 'invalid_value', found.fault);
    const file = found !== undefined && 'file' in found ? found.file : undefined;
    const given = await readSkill(input, file, { before: agent.skills, limits, breathe }, add);
    const { id, name } = given.skill;
    if (seen.names.has(name)) add('name', 'invalid_value', 'is the name of an earlier skill of the list.');
    if (seen.ids.has(id)) add('id', 'invalid_value', 'is the id of an earlier skill of the list.');
    seen.names.add(name);
    seen.ids.add(id);
    skills.push(given);
  }
  return skills;
}

/** What all skills of a request are read with. */
interface SkillTerms {
  /** The skills of the agent until now. */
  readonly before: readonly PinnedSkill[];
  readonly limits: Limits;
  readonly breathe: Breathe;
}

type AddFault = (field: string, code: string, message: string) => void;

async function readSkill(
  input: SkillInput,
  file: SkillMd | undefined,
  { before, limits, breathe }: SkillTerms,
  add: AddFault,
): Promise<GivenSkill> {
  const kept = before.find(({ id }) => id === input.id);
  if (kept !== undefined && isOnlyId(input)) return { skill: kept };
  if (input.id !== undefined && kept === undefined) add('id', 'invalid_value', 'is the id of no skill of the agent.');
  const name = input.name ?? file?.name ?? '';
  const description = (input.description ?? file?.description ?? '').trim();
  if (!NAME.test(name)) add('name', name === '' ? 'missing_field' : 'invalid_value', 'must be 1 to 64 of a-z, 0-9, -.');
  checkDescription(description, add);
  const content = readContent(input, file, limits, add);
  const files = readFiles(input.files, limits, add);
  const license = input.license ?? file?.license;
  const refs = input.files.map(({ path, resourceId }) => ({ path, ...(resourceId !== undefined && { resourceId }) }));
  const stored = { content, files };
  const hash = await hashOf(stored, input.resourceId, refs, breathe);
  const skill: PinnedSkill = {
    ...{ id: kept?.id ?? newId(), name, description, isEnabled: input.isEnabled ?? true },
    ...(input.resourceId !== undefined && { resourceId: input.resourceId }),
    files: refs,
    allowedTools: readTools(input.allowedTools.length > 0 ? input.allowedTools : (file?.allowedTools ?? []), add),
    ...(license !== undefined && { license }),
    metadata: readMetadata(input.metadata, file, add),
    contentHash: hash,
    updatedAt: kept?.updatedAt ?? '',
  };
  const isSame = kept !== undefined && isDeepStrictEqual(skill, kept);
  return { skill: isSame ? kept : { ...skill, updatedAt: new Date().toISOString() }, stored: { ...stored, hash } };
}

/** Returns whether an entry names a skill and nothing of it. */
function isOnlyId({
  name,
  description,
  content,
  skillMd,
  license,
  isEnabled,
  resourceId,
  ...lists
}: SkillInput): boolean {
  const { files, allowedTools, metadata } = lists;
  const given = [name, description, content, skillMd, license, isEnabled, resourceId];
  return given.every((one) => one === undefined) && [files, allowedTools, metadata].every(({ length }) => length === 0);
}

function checkDescription(description: string, add: AddFault): void {
  if (description === '') add('description', 'missing_field', 'is required.');
  else if (isLongerThan(description, MAX_DESCRIPTION)) {
    add('description', 'invalid_value', `may have at most ${MAX_DESCRIPTION} characters.`);
  }
}

function readContent(input: SkillInput, file: SkillMd | undefined, { skillBytes }: Limits, add: AddFault): string {
  const { content, skillMd, resourceId } = input;
  const ways = [content, skillMd, resourceId].filter((one) => one !== undefined).length;
  if (ways > 1)
    add('content', 'ambiguous_target', 'does not go with skill_md or resource_id, nor these with each other.');
  if (ways === 0) add('content', 'missing_field', 'is required, or skill_md or resource_id.');
  const text = content ?? file?.content ?? '';
  if (Buffer.byteLength(text) > skillBytes) add('content', 'invalid_value', `may have at most ${skillBytes} bytes.`);
  return text;
}

/** Reads the files of a skill, without those whose text is that of a resource. */
function readFiles(files: readonly SkillFile[], limits: Limits, add: AddFault): StoredSkillFile[] {
  if (files.length > limits.skillFiles) add('files', 'too_many_items', `may have at most ${limits.skillFiles} items.`);
  const all = files.reduce((sum, { content = '' }) => sum + Buffer.byteLength(content), 0);
  if (all > limits.skillFilesBytes) {
    const most = `may have at most ${limits.skillFilesBytes} bytes together`;
    add('files', 'invalid_value', `${most}. Upload larger ones and refer to them by resource_id.`);
  }
  const paths = new Set<string>();
  return files.flatMap(({ path, content, resourceId }, i) => {
    const at = `files[${i}]`;
    if (!isPath(path)) add(`${at}.path`, 'invalid_value', 'must be a relative path such as references/table.md.');
    if (paths.has(path)) add(`${at}.path`, 'invalid_value', 'is the path of an earlier file.');
    paths.add(path);
    if (content !== undefined && resourceId !== undefined) {
      add(`${at}.content`, 'ambiguous_target', 'does not go with resource_id.');
    }
    if (content === undefined && resourceId === undefined) {
      add(`${at}.content`, 'missing_field', 'is required, or resource_id.');
    }
    const bytes = Buffer.byteLength(content ?? '');
    if (bytes > limits.skillFileBytes) {
      add(`${at}.content`, 'invalid_value', `may have at most ${limits.skillFileBytes} bytes.`);
    }
    return content === undefined || resourceId !== undefined ? [] : [{ path, content }];
  });
}

function isPath(path: string): boolean {
  const parts = path.split('/');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  return parts.every((part) => part !== '' && part !== '.' && part !== '..') && !/[\\\u0000-\u001f\u007f]/.test(path);
}

function readTools(names: readonly string[], add: AddFault): string[] {
  if (names.length > MAX_TOOLS) add('allowed_tools', 'too_many_items', `may have at most ${MAX_TOOLS} items.`);
  if (names.some((name) => isLongerThan(name, 64)))
    add('allowed_tools', 'invalid_value', 'has a name of over 64 characters.');
  return [...new Set(names)];
}

function readMetadata(bytes: Buffer, file: SkillMd | undefined, add: AddFault): Record<string, unknown> {
  const given = bytes.length > 0 ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : (file?.metadata ?? {});
  const text = JSON.stringify(given);
  if (Buffer.byteLength(text) > MAX_METADATA_BYTES) {
    add('metadata', 'invalid_value', `may have at most ${MAX_METADATA_BYTES} bytes.`);
    return {};
  }
  // YAML has values that JSON does not have; this is what JSON keeps of them.
  return JSON.parse(text) as Record<string, unknown>;
}

/** Returns the hash of a skill's content; for documents that are read live, of their ids. Lets other requests run. */
async function hashOf(
  { content, files }: Omit<StoredContent, 'hash'>,
  resourceId: string | undefined,
  refs: PinnedSkill['files'],
  breathe: Breathe,
): Promise<string> {
  const hash = createHash('sha256');
  for (const piece of hashedPieces(content, files, resourceId, refs)) {
    hash.update(piece);
    await breathe();
  }
  return hash.digest('hex');
}

/** Writes `[content, resourceId, [[path, content] of each file], [[path, resourceId] of each reference]]` as JSON. */
function* hashedPieces(
  content: string,
  files: StoredContent['files'],
  resourceId: string | undefined,
  refs: PinnedSkill['files'],
): Generator<string> {
  yield '[';
  yield* jsonPiecesOf(content);
  yield `,${JSON.stringify(resourceId ?? null)},[`;
  for (const [i, file] of files.entries()) {
    yield `${i === 0 ? '' : ','}[${JSON.stringify(file.path)},`;
    yield* jsonPiecesOf(file.content);
    yield ']';
  }
  const live = refs.filter((ref) => ref.resourceId !== undefined).map(({ path, resourceId: id }) => [path, id]);
  yield `],${JSON.stringify(live)}]`;
}
