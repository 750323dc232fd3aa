import { isOutside } from '../common/links.js';
import { isLitter, stemOf } from '../common/paths.js';
import { cleanName, readText } from '../common/text.js';
import { ImportFault, type ItemContent, type OpenSource } from '../port.js';
import { quoteLargeNumbers, readJson, SHAPES, type Shape, shapeOfJson, tableOfRows } from './shapes.js';

/** Bytes beyond which a file is refused, because it is read into memory as a whole. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

function contentOf(shape: Shape, path: string): ItemContent {
  switch (shape.kind) {
    case 'document': {
      const { title, name, ...document } = shape.document;
      const heading = [title, name].find((word) => typeof word === 'string' && word.trim() !== '');
      return {
        title: heading === undefined ? undefined : cleanName(heading as string),
        json: { type: document.type, content: document.content },
      };
    }
    case 'table':
      return { json: { columns: shape.table.columns, rows: shape.table.rows } };
    default: {
      const { table, warnings } = tableOfRows(shape.rows, path);
      return { json: table, warnings: [...warnings, ...leftOut(shape.beside)] };
    }
  }
}

/** Names that a warning lists. */
const MAX_NAMED = 10;

function leftOut(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const named = names.slice(0, MAX_NAMED).map((name) => cleanName(name));
  const more = names.length > MAX_NAMED ? ', …' : '';
  return [`The values beside the list of rows are left out: ${named.join(', ')}${more}.`];
}

function shapeOfText(text: string, path: string): Shape {
  const shape = shapeOfJson(readJson(text, path));
  if (shape === undefined) throw new ImportFault('unknown_shape', `${path} is none of these: ${SHAPES}.`);
  if (shape.kind !== 'rows') return shape;
  const exact = quoteLargeNumbers(text);
  return exact === text ? shape : (shapeOfJson(readJson(exact, path)) ?? shape);
}

/** Opens JSON files, each as a document or a table. A file of an unsupported shape is refused. */
export const openJsonSource: OpenSource = async (bundle, options) => {
  const entries = bundle.entries.filter(({ path }) => !isLitter(path));
  const [only] = entries;
  if (only === undefined) throw new ImportFault('no_pages', 'The source contains no JSON.');
  const shapes = new Map<string, Shape['kind']>();
  const read = async (path: string): Promise<Shape> => shapeOfText(await readText(bundle, path, MAX_JSON_BYTES), path);
  for (const { path } of entries) {
    try {
      shapes.set(path, (await read(path)).kind);
    } catch (error) {
      // The other files may be valid; the item of this one reports its error.
      if (entries.length === 1 || !(error instanceof ImportFault)) throw error;
    }
  }
  const nameOf = (path: string) =>
    cleanName(stemOf(entries.length === 1 && options.fileName !== undefined ? options.fileName : path));
  return {
    items: entries.map(({ path }) => ({
      path,
      kind: (shapes.get(path) ?? 'document') === 'document' ? ('document' as const) : ('table' as const),
      name: nameOf(path),
    })),
    skipped: [],
    read: async ({ path }) => contentOf(await read(path), path),
    resolve: (from, href) =>
      /^\s*(?:#|$)/.test(href) ? { item: from.path } : isOutside(href) ? { outside: true } : { broken: true },
  };
};
