import type { DescMessage } from '@bufbuild/protobuf';
import { collectLargeValues, type Part, partsOf } from './large-values.js';
import { type FieldWriter, type Writers, writeList, writeMessage } from './message.js';

/** An answer as JSON texts, which the envelope surrounds. */
export interface WrittenResponse {
  /** A JSON object in parts. There is one part, a text, if no value is large. */
  readonly data: readonly Part[];
  /** A JSON object; undefined if the answer is not a list, or is a list without pages. */
  readonly page: string | undefined;
}

/** What a request asks to see of each record. */
export interface Shown {
  /** The only fields to write; all when absent. */
  readonly fields?: ReadonlySet<string> | undefined;
  /** Sparse lists that are written even if they are empty. */
  readonly included?: ReadonlySet<string> | undefined;
}

/** Writes the answers of an endpoint. */
export interface Answer {
  /** The fields of a record: of each item in a list, otherwise of the answer itself; both if it can be either. */
  readonly recordFields: ReadonlySet<string>;
  /** The lists of a record that are left out if they are empty, unless the request includes them. */
  readonly sparseLists: ReadonlySet<string>;
  /** Renders the rpc's response. */
  write(message: object, shown?: Shown): WrittenResponse;
  /** Returns the version of the record in an answer; undefined if it has none. */
  versionOf(message: object): number | undefined;
}

/**
 * Compiles the writer of a message type. A field of type Page is written next to the data. `record` names the field
 * that contains the version; if it is empty, the version of the answer itself is used.
 */
export function compileAnswer(writersOf: Writers, output: DescMessage, record = ''): Answer {
  const writers = writersOf(output);
  const versioned = versionedIn(writers, writersOf, record);
  const page = writers.find((field) => field.shape.element.kind === 'page');
  const body = writers.filter((field) => field !== page);
  const list = page === undefined ? undefined : body.find(isRecords);
  const itemType = list?.shape.element.kind === 'message' ? list.shape.element.type : undefined;
  const records = itemType === undefined ? body : writersOf(itemType);
  // Answers of some endpoints are one record without a page, such as an import without its items.
  const maybeRecord = page?.sparse === true;

  const writeData = (message: Readonly<Record<string, unknown>>, { fields, included }: Shown): string => {
    if (fields === undefined && included === undefined) return writeMessage(message, body);
    const isRecord = list === undefined || (maybeRecord && message[page.local] === undefined);
    const kept = (isRecord ? body : records)
      .filter(({ shape }) => fields?.has(shape.name) !== false)
      .map((field) => (included?.has(field.shape.name) === true ? { ...field, sparse: false } : field));
    if (isRecord) return writeMessage(message, kept);
    const write = (items: unknown) => writeList(items, (item) => writeMessage(item as typeof message, kept));
    return writeMessage(
      message,
      body.map((field) => (field === list ? { ...list, write } : field)),
    );
  };

  return {
    recordFields: new Set([...records, ...(maybeRecord ? body : [])].map((field) => field.shape.name)),
    sparseLists: new Set(records.filter(isSparseList).map((field) => field.shape.name)),
    write: (response, shown = {}) => {
      const message = response as Readonly<Record<string, unknown>>;
      const { text, values } = collectLargeValues(() => writeData(message, shown));
      const paged = page !== undefined && !(page.sparse && message[page.local] === undefined);
      return { data: partsOf(text, values), page: paged ? page.write(message[page.local]) : undefined };
    },
    versionOf: (response) => {
      const value = versioned?.(response as Readonly<Record<string, unknown>>);
      return typeof value === 'number' ? value : undefined;
    },
  };
}

type Message = Readonly<Record<string, unknown>>;

/**
 * Returns a function that reads the version of the record in an answer; undefined if it has none. Throws if `record`
 * names no field with a version.
 */
function versionedIn(
  writers: readonly FieldWriter[],
  writersOf: Writers,
  record: string,
): ((message: Message) => unknown) | undefined {
  const versionOf = (fields: readonly FieldWriter[]) =>
    fields.find(({ shape }) => shape.name === 'version' && shape.element.kind === 'integer');
  if (record === '') {
    const own = versionOf(writers);
    return own && ((message) => message[own.local]);
  }
  const field = writers.find(({ shape }) => shape.name === record);
  const inner = field?.shape.element.kind === 'message' ? versionOf(writersOf(field.shape.element.type)) : undefined;
  if (field === undefined || inner === undefined) throw new Error(`the answer has no record ${record} with a version`);
  return (message) => (message[field.local] as Message | undefined)?.[inner.local];
}

function isRecords({ shape }: FieldWriter): boolean {
  return shape.name === 'items' && shape.cardinality === 'list' && shape.element.kind === 'message';
}

function isSparseList({ shape, sparse }: FieldWriter): boolean {
  return sparse && shape.cardinality === 'list';
}
