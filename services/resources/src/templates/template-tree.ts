import type { Fault } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import type { Breathe } from '@commonplace/kit/slices';
import { isBlank, isLongerThan, trimLine } from '@commonplace/kit/words';
import { MAX_DEPTH, MAX_METADATA_BYTES } from '../config.js';
import type { NodeType } from '../domain/node.js';
import { isContainer } from '../domain/tree.js';
import type { TreeLine } from './records.js';

/** An item of a tree that a request or the product itself supplies. */
export interface TreeItem {
  readonly type: NodeType;
  readonly name: string;
  readonly icon?: string | undefined;
  readonly description?: string | undefined;
  /** A JSON object as text. */
  readonly metadata?: string | undefined;
  readonly tags: readonly string[];
  /** JSON texts, as for creating a resource; empty if absent. */
  readonly content: Buffer;
  readonly columns: Buffer;
  readonly rows: Buffer;
  /** Key by which other items of the tree refer to this one, as `resource:@key`. */
  readonly key?: string | undefined;
  /** Index of the parent in the list of items; absent at the top. */
  readonly parent?: number;
  /** Path of the item in the request, such as `tree[0].children[1]`. */
  readonly param: string;
}

/** Maximum number of items of a tree in one request. */
const MAX_TREE_ITEMS = 1000;
const TYPES: readonly string[] = ['document', 'table', 'artifact', 'folder'];
const FIELDS: readonly string[] = [
  'type',
  'name',
  'icon',
  'description',
  'metadata',
  'tags',
  'content',
  'columns',
  'rows',
  'children',
];
const MAX_TAGS = 50;
const MAX_TAG_CHARS = 64;

interface ReadTree {
  readonly items: TreeItem[];
  readonly faults: Fault[];
}

/** Reads a tree of the product's own. Its items may have a `key`. */
export function readKeyedTree(tree: readonly unknown[]): ReadTree {
  const steps = readItems(tree, true);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Reads `tree[]`, with pauses. Returns its items (parents before children, siblings in order) and the faults found. */
export async function readTree(tree: readonly unknown[], breathe: Breathe): Promise<ReadTree> {
  const steps = readItems(tree, false);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await breathe();
  }
}

/** Reads a tree, and yields after each item. */
function* readItems(tree: readonly unknown[], keyed: boolean): Generator<undefined, ReadTree> {
  const items: TreeItem[] = [];
  const faults: Fault[] = [];
  const complain = (param: string, code: string, message: string) => faults.push({ param, code, message });

  function* walk(
    list: readonly unknown[],
    prefix: string,
    parent: number | undefined,
    depth: number,
  ): Generator<undefined> {
    for (const [i, given] of list.entries()) {
      if (items.length > MAX_TREE_ITEMS || faults.length > MAX_TREE_ITEMS) return;
      const param = `${prefix}[${i}]`;
      if (typeof given !== 'object' || given === null || Array.isArray(given)) {
        complain(param, 'invalid_type', `${param} must be an object.`);
        continue;
      }
      if (depth > MAX_DEPTH) {
        complain(param, 'invalid_value', `The tree may have at most ${MAX_DEPTH} levels.`);
        return;
      }
      const fields = given as Readonly<Record<string, unknown>>;
      const item = readItem(fields, param, keyed, complain);
      items.push({ ...item, ...(parent !== undefined && { parent }) });
      yield;
      const { children } = fields;
      if (children === undefined || children === null) continue;
      if (!Array.isArray(children)) {
        complain(`${param}.children`, 'invalid_type', 'children must be an array.');
      } else {
        if (children.length > 0 && !isContainer(item.type)) {
          complain(
            `${param}.children`,
            'parent_not_container',
            `Resources of the type ${item.type} cannot contain others.`,
          );
        }
        yield* walk(children, `${param}.children`, items.length - 1, depth + 1);
      }
    }
  }

  yield* walk(tree, 'tree', undefined, 1);
  if (items.length > MAX_TREE_ITEMS)
    complain('tree', 'too_many_items', `A tree may have at most ${MAX_TREE_ITEMS} items.`);
  if (tree.length === 0) complain('tree', 'missing_field', 'A tree must have at least one item.');
  return { items, faults };
}

type Complain = (param: string, code: string, message: string) => void;

function readItem(given: Readonly<Record<string, unknown>>, param: string, keyed: boolean, complain: Complain) {
  for (const name of Object.keys(given)) {
    if (FIELDS.includes(name) || (keyed && name === 'key')) continue;
    complain(`${param}.${name}`, 'unknown_field', `An item has no field ${name}.`);
  }
  const text = (name: string, maxChars: number): string | undefined => {
    const value = given[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') complain(`${param}.${name}`, 'invalid_type', `${name} must be a string.`);
    else if (isLongerThan(value, maxChars)) {
      complain(`${param}.${name}`, 'invalid_value', `${name} may have at most ${maxChars} characters.`);
    } else return value;
    return undefined;
  };
  return {
    type: typeIn(given, param, complain),
    name: nameIn(given, param, complain),
    icon: text('icon', 255),
    description: text('description', 2000),
    metadata: metadataIn(given, param, complain),
    tags: tagsIn(given, param, complain),
    content: jsonIn(given, 'content', (value) => typeof value === 'string' || isObject(value), param, complain),
    columns: jsonIn(given, 'columns', Array.isArray, param, complain),
    rows: jsonIn(given, 'rows', Array.isArray, param, complain),
    key: text('key', 64),
    param,
  };
}

function typeIn({ type }: Readonly<Record<string, unknown>>, param: string, complain: Complain): NodeType {
  if (type === undefined || type === null) complain(`${param}.type`, 'missing_field', 'type is required.');
  else if (type === 'file') complain(`${param}.type`, 'use_files_endpoint', 'Files are created by POST /files.');
  else if (!TYPES.includes(type as string)) {
    complain(`${param}.type`, 'invalid_value', `type must be one of ${TYPES.join(', ')}.`);
  } else return type as NodeType;
  return 'folder';
}

function nameIn({ name }: Readonly<Record<string, unknown>>, param: string, complain: Complain): string {
  if (name === undefined || name === null) complain(`${param}.name`, 'missing_field', 'name is required.');
  else if (typeof name !== 'string') complain(`${param}.name`, 'invalid_type', 'name must be a string.');
  else {
    const line = trimLine(name);
    if (line !== '' && !isLongerThan(line, 255) && !/\p{Cc}/u.test(line)) return line;
    complain(`${param}.name`, 'invalid_value', 'name must have 1 to 255 characters, and no control characters.');
  }
  return '';
}

function metadataIn(
  { metadata }: Readonly<Record<string, unknown>>,
  param: string,
  complain: Complain,
): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  const json = JSON.stringify(metadata);
  if (!isObject(metadata)) complain(`${param}.metadata`, 'invalid_type', 'metadata must be an object.');
  else if (Buffer.byteLength(json) > MAX_METADATA_BYTES) {
    complain(`${param}.metadata`, 'invalid_value', `metadata may have at most ${MAX_METADATA_BYTES} bytes.`);
  } else return json;
  return undefined;
}

function tagsIn({ tags }: Readonly<Record<string, unknown>>, param: string, complain: Complain): string[] {
  if (tags === undefined || tags === null) return [];
  const named = (tag: unknown) => typeof tag === 'string' && !isBlank(tag) && !isLongerThan(tag, MAX_TAG_CHARS);
  if (Array.isArray(tags) && tags.length <= MAX_TAGS && tags.every(named)) return tags.map((tag: string) => tag.trim());
  complain(
    `${param}.tags`,
    'invalid_value',
    `tags must be at most ${MAX_TAGS} names of at most ${MAX_TAG_CHARS} characters.`,
  );
  return [];
}

function jsonIn(
  given: Readonly<Record<string, unknown>>,
  name: string,
  fits: (value: unknown) => boolean,
  param: string,
  complain: Complain,
): Buffer {
  const value = given[name];
  if (value === undefined || value === null) return Buffer.alloc(0);
  if (fits(value)) return Buffer.from(JSON.stringify(value));
  complain(`${param}.${name}`, 'invalid_type', `${name} has the wrong type.`);
  return Buffer.alloc(0);
}

/** The fields of an item that a drawing needs. */
interface DrawnItem {
  readonly id: string;
  /** Id of an item that was added before; any other at the top. */
  readonly parentId: string;
  readonly type: string;
  readonly name: string;
  readonly icon?: string | undefined;
  readonly description?: string | undefined;
}

/** The outline of a tree whose items are added one by one, parents before children and siblings in their order. */
interface Drawing {
  readonly tree: readonly TreeLine[];
  add(item: DrawnItem): void;
}

export function createDrawing(): Drawing {
  type Line = Omit<TreeLine, 'children'> & { readonly children: Line[] };
  const lines = new Map<string, Line>();
  const tree: Line[] = [];
  return {
    tree,
    add({ id, parentId, type, name, icon, description }) {
      const line = { type, name, icon, description, children: [] };
      lines.set(id, line);
      (lines.get(parentId)?.children ?? tree).push(line);
    },
  };
}

/** Returns the outline of the items of a request. */
export function drawItems(items: readonly TreeItem[]): readonly TreeLine[] {
  const drawing = createDrawing();
  for (const [at, item] of items.entries()) drawing.add({ ...item, id: String(at), parentId: String(item.parent) });
  return drawing.tree;
}

const PREVIEW_LINES = 50;
const PREVIEW_LEVELS = 3;

/** Returns the upper levels of a tree, without descriptions, up to a maximum number of items. */
export function previewOf(tree: readonly TreeLine[]): TreeLine[] {
  let room = PREVIEW_LINES;
  type Line = Omit<TreeLine, 'children'> & { readonly children: Line[] };
  const top: Line[] = [];
  let level = [{ from: tree, to: top }];
  for (let depth = 0; depth < PREVIEW_LEVELS && room > 0; depth++) {
    const next: typeof level = [];
    for (const { from, to } of level) {
      for (const { type, name, icon, children } of from.slice(0, room)) {
        const line = { type, name, icon, children: [] };
        to.push(line);
        next.push({ from: children, to: line.children });
      }
      room -= to.length;
    }
    level = next;
  }
  return top;
}
