// Opens an archive in a separate process, verifies it, and prints the error and how much more memory that took than the
// idle process.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileBytes } from '../../src/imports/bundle/bytes.js';
import { openZipBundle } from '../../src/imports/bundle/zip.js';

const GIB = 1024 ** 3;
const limits = {
  archiveBytes: 5 * GIB,
  unpackedBytes: 20 * GIB,
  entryBytes: 5 * GIB,
  entries: 100_000,
  ratio: 200,
  nesting: 2,
  pathLength: 1024,
};
const scratch = mkdtempSync(join(tmpdir(), 'commonplace-read-archive-'));
const idle = process.memoryUsage().rss;
let code = 'read';
try {
  const bundle = await openZipBundle(await fileBytes(process.argv[2] ?? ''), limits, scratch);
  await bundle.verify(() => false).finally(() => bundle.close());
} catch (error) {
  code = (error as { code: string }).code;
}
rmSync(scratch, { recursive: true });
console.log(JSON.stringify({ code, megabytes: Math.round((peakBytes() - idle) / 1024 / 1024) }));

/**
 * Returns the peak memory in bytes. `getrusage` is only a fallback, because it reports at least the parent's memory at
 * the time of the fork.
 */
function peakBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
  return (peak === undefined ? process.resourceUsage().maxRSS : Number(peak)) * 1024;
}
