import { isLitter, stemOf } from '../common/paths.js';
import { cleanName } from '../common/text.js';
import { ImportFault, type OpenSource } from '../port.js';
import { MAX_CSV_BYTES, readCsv } from './parse.js';

/** Opens delimited text files (comma, semicolon, tab or bar), each as one table; usually there is one. */
export const openCsvSource: OpenSource = async (bundle, options) => {
  const entries = bundle.entries.filter(({ path }) => !isLitter(path));
  if (entries.length === 0) throw new ImportFault('no_tables', 'The source contains no file with values.');
  const isSingle = entries.length === 1;
  const nameOf = (path: string) =>
    cleanName(stemOf(isSingle && options.fileName !== undefined ? options.fileName : path));
  return {
    items: entries.map(({ path }) => ({ path, kind: 'table', name: nameOf(path) })),
    skipped: [],
    async read({ path }) {
      const { table, warnings } = readCsv(await bundle.read(path, MAX_CSV_BYTES), path, options.csv);
      return { json: table, warnings };
    },
    resolve: () => ({ outside: true }),
  };
};
