import { ImportFault } from '../sources/port.js';
import type { Bytes } from './bytes.js';
import { type OpenBundle, requireSize } from './zip.js';

/** Opens a bundle of one file. */
export function openSingle(bytes: Bytes, name: string): OpenBundle {
  const entry = { path: name, sizeBytes: bytes.size };
  const requirePath = (path: string): void => {
    if (path !== name) throw new ImportFault('archive_entry_missing', `There is no ${path}.`);
  };
  return {
    entries: [entry],
    entry: (path) => (path === name ? entry : undefined),
    async open(path) {
      requirePath(path);
      return bytes.stream(0, bytes.size);
    },
    async read(path, limit) {
      requirePath(path);
      requireSize(entry, limit);
      return bytes.read(0, bytes.size);
    },
    verify: async () => {},
    close: () => bytes.close(),
  };
}
