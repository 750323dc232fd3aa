import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes a folder, for its owner alone, and those above that are missing; their names outlive a power cut. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const highest = dirname(resolve(first));
  for (let above = dirname(resolve(path)); above.length >= highest.length; above = dirname(above)) {
    sync(above);
    if (above === dirname(above)) return;
  }
}

/**
 * Writes a file that its owner alone may read, in the place of one of that name: whoever reads it, after a power cut too,
 * finds the old text, or the whole new one. It is durable when this returns.
 */
export function writeSmallFile(path: string, text: string): void {
  const part = `${path}.part`;
  const file = openSync(part, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
  sync(dirname(resolve(path)));
}

function sync(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
