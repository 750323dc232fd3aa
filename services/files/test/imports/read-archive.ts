// Opens an archive in a process of its own, looks through all of it, and tells what it is refused with and how
// much memory that took beyond what the process has when it is idle.
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

/** What `getrusage` says is at least what the process that started this one had, where that was the larger. */
function peakBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
  return (peak === undefined ? process.resourceUsage().maxRSS : Number(peak)) * 1024;
}
