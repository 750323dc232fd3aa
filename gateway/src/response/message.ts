import type { DescMessage } from '@bufbuild/protobuf';
import type { Contract } from '../descriptors/contract.js';
import { type Element, enumChoices, type FieldShape, shapesOf } from '../descriptors/shape.js';
import { keepTexts } from './kept-texts.js';
import { writeItems, writeJson, writeText } from './large-values.js';
import { quote, quoteTime } from './text.js';

/** Writes one value as JSON; absent values become null. */
type Write = (value: unknown) => string;

export interface FieldWriter {
  readonly shape: FieldShape;
  readonly local: string;
  /** `"name":` */
  readonly key: string;
  /** `,"name":`. Below, the same followed by the value of an absent field. */
  readonly next: string;
  readonly absent: string;
  /**
   * Whether the field is left out if empty, because it is shown only once or exists only in some kinds of the record.
   */
  readonly sparse: boolean;
  /** Writer of the field that decides whether this one is left out. */
  beside?: FieldWriter | undefined;
  readonly write: Write;
}

/** Returns the writers of a message's fields, which are compiled once. */
export type Writers = (message: DescMessage) => readonly FieldWriter[];

/** Creates the writers that render the messages of a contract as JSON. */
export function createWriters(contract: Contract): Writers {
  const known = new Map<DescMessage, FieldWriter[]>();
  const writersOf: Writers = (message) => {
    let writers = known.get(message);
    if (writers === undefined) {
      writers = [];
      // The writers are stored before the fields are compiled, because a message may contain itself.
      known.set(message, writers);
      for (const shape of shapesOf(contract, message)) writers.push(compileField(contract, shape, writersOf));
      for (const one of writers) one.beside = writers.find(({ shape }) => shape.name === one.shape.rules.beside);
    }
    return writers;
  };
  return writersOf;
}

function compileField(contract: Contract, shape: FieldShape, writersOf: Writers): FieldWriter {
  const key = `${JSON.stringify(shape.name)}:`;
  const write = compileShape(contract, shape, writersOf);
  const absent = `,${key}${write(undefined)}`;
  const sparse = shape.rules.once || shape.rules.sparse;
  return { shape, local: shape.local, key, next: `,${key}`, absent, sparse, write };
}

function compileShape(contract: Contract, shape: FieldShape, writersOf: Writers): Write {
  const one = compileElement(contract, shape.element, writersOf);
  if (shape.cardinality === 'one') return one;
  return shape.cardinality === 'list' ? (value) => writeList(value, one) : mapWriter(one, shape.rules.nullable);
}

function compileElement(contract: Contract, element: Element, writersOf: Writers): Write {
  switch (element.kind) {
    case 'string':
      return (value) => (typeof value === 'string' ? writeText(value) : 'null');
    case 'boolean':
      return (value) => (value === true ? 'true' : value === false ? 'false' : 'null');
    case 'integer':
    case 'number':
      return (value) => (Number.isFinite(value) ? `${value}` : 'null');
    case 'time':
      return (value) => (typeof value === 'string' ? quoteTime(value) : 'null');
    case 'json':
      return (value) => (Buffer.isBuffer(value) && value.length > 0 ? writeJson(value) : 'null');
    case 'enum': {
      const texts = new Map<unknown, string>();
      for (const [name, choice] of enumChoices(element.type)) texts.set(name, quote(choice));
      return (value) => texts.get(value) ?? 'null';
    }
    case 'wrapped': {
      const list = compileShape(contract, element.list, writersOf);
      const { local } = element.list;
      return (value) => (isMessage(value) ? list(value[local]) : 'null');
    }
    case 'message':
    case 'page': {
      const writers = writersOf(element.type);
      const write = keepTexts((message) => writeMessage(message, writers));
      return (value) => (isMessage(value) ? write(value) : 'null');
    }
    default:
      throw new Error(`answers do not support fields of kind ${element.kind}`);
  }
}

function isMessage(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isLeftOut(message: Readonly<Record<string, unknown>>, field: FieldWriter): boolean {
  // A field that is set is written regardless of the field beside it.
  if (field.beside !== undefined && isSet(message[field.local], field)) return false;
  const decides = field.beside ?? field;
  return isEmpty(message[decides.local], decides);
}

/** Returns whether an optional field has a value, or a list has items. */
function isSet(value: unknown, { shape }: FieldWriter): boolean {
  return shape.cardinality === 'list'
    ? Array.isArray(value) && value.length > 0
    : shape.optional && value !== undefined;
}

/** Returns whether a value counts as empty. A present, optional and sparse text is not empty, even if it is ''. */
function isEmpty(value: unknown, { write, shape }: FieldWriter): boolean {
  if (value === undefined || (value === '' && !(shape.optional && shape.rules.sparse))) return true;
  if (Array.isArray(value) || Buffer.isBuffer(value)) return value.length === 0;
  return shape.element.kind === 'enum' && write(value) === 'null';
}

/** Writes the fields of a message in the order of the writers. */
export function writeMessage(message: Readonly<Record<string, unknown>>, writers: readonly FieldWriter[]): string {
  let json = '';
  for (let i = 0; i < writers.length; i++) {
    const field = writers[i] as FieldWriter;
    const value = message[field.local];
    if (field.sparse && isLeftOut(message, field)) continue;
    if (json === '') json = `{${field.key}${field.write(value)}`;
    else json += value === undefined ? field.absent : field.next + field.write(value);
  }
  return json === '' ? '{}' : `${json}}`;
}

/** Writes a list. A value that is not a list becomes an empty list. */
export function writeList(values: unknown, one: Write): string {
  return Array.isArray(values) && values.length > 0 ? `[${writeItems(values, 0, one)}` : '[]';
}

/** Returns the function that writes maps; `empty` is written for a map without entries. */
function mapWriter(one: Write, nullable: boolean): Write {
  const empty = nullable ? 'null' : '{}';
  return (map) => {
    if (!isMessage(map)) return empty;
    let json = '';
    for (const key of Object.keys(map)) json += `${json === '' ? '{' : ','}${quote(key)}:${one(map[key])}`;
    return json === '' ? empty : `${json}}`;
  };
}
