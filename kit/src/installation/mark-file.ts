import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../config/index.js';
import { makeFolder, syncFolder, writeSmallFile } from '../durable/index.js';
import { newId } from '../id/index.js';
import type { IdentifiedStore, StoreKind } from './port.js';

/** Name of the file that contains the id of a folder's installation. */
export const MARK_FILE = 'installation.json';

interface MarkFileOptions {
  readonly kind: StoreKind;
  readonly place: string;
  /** The file that contains the id, next to the data. */
  readonly file: string;
  readonly isEmpty: () => Promise<boolean>;
}

/** Opens a folder or file whose installation id is stored in a small file next to its content. */
export function openMarkFile({ kind, place, file, isEmpty }: MarkFileOptions): IdentifiedStore {
  const readId = async () => readMark(file);
  return {
    kind,
    place,
    isEmpty,
    readId,
    async claim(id, replace = false) {
      makeFolder(dirname(file));
      const part = `${file}.${newId()}`;
      writeSmallFile(part, `${markText(id)}\n`);
      if (replace) renameSync(part, file);
      else linkUnlessThere(part, file);
      syncFolder(dirname(file));
      return readMark(file) ?? id;
    },
    close: async () => {},
  };
}

function linkUnlessThere(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

/** Returns the content of a mark file. */
export function markText(id: string): string {
  return JSON.stringify({ product: 'commonplace', installation_id: id });
}

/** Returns the id in the content of a mark file. Throws ConfigError if the content is invalid. */
export function parseMark(text: string, place: string): string {
  try {
    const { installation_id: id } = JSON.parse(text) as { installation_id?: unknown };
    if (typeof id === 'string' && id !== '') return id;
  } catch {
    // The error is thrown below.
  }
  throw new ConfigError([`${place} does not say to which installation it belongs: it is damaged`]);
}

function readMark(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return parseMark(text, file);
}
