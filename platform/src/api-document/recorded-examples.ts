import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A recorded request to a running system, and its answer; see `npm run examples`. */
export interface RecordedExample {
  /** `path` has no parameters left, and may have a query. */
  readonly request: { readonly path: string; readonly body?: unknown };
  readonly response: { readonly status: number; readonly body?: unknown };
}

/** Recorded examples by operation id. */
export type RecordedExamples = Readonly<Record<string, RecordedExample>>;

/** Path of the recordings in the project's root, four folders above the compiled file's. */
const FILE = fileURLToPath(new URL('../../../../docs/api/examples.json', import.meta.url));

/** Reads the recorded examples; there are none if the gateway was packaged without the documentation. */
export function readRecordedExamples(file = FILE): RecordedExamples {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
