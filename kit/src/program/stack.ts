import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Matches a position in a file in a stack trace. */
const PLACE = /(file:\/\/[^\s()]+\.c?js):(\d+):(\d+)/g;

interface Origins {
  readonly url: string;
  readonly map: SourceMap;
}

const known = new Map<string, Origins | undefined>();

/**
 * Returns a stack trace with positions in the source files, if a source map exists next to a file, as it does in the
 * bundle. Node's own `--enable-source-maps` maps at each access to `stack`, which libraries make even when nothing is
 * wrong. A program's maps take longer to read than its code to load, so they are read only for stack traces that are
 * written.
 */
export function inSources(stack: string): string {
  return stack.replace(PLACE, (place, url: string, line: string, column: string) => {
    const origins = originsOf(url);
    const found = origins?.map.findEntry(Number(line) - 1, Number(column) - 1);
    if (origins === undefined || found === undefined || !('originalSource' in found)) return place;
    return `${new URL(found.originalSource, origins.url).href}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

function originsOf(url: string): Origins | undefined {
  if (!known.has(url)) known.set(url, readOrigins(`${url}.map`));
  return known.get(url);
}

function readOrigins(url: string): Origins | undefined {
  try {
    return { url, map: new SourceMap(JSON.parse(readFileSync(fileURLToPath(url), 'utf8')) as SourceMapPayload) };
  } catch {
    // There is no map, so positions in the file itself are kept.
    return undefined;
  }
}

/** Maps the stack trace of the error that ends this process. */
export function endInSources(): void {
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    if (error instanceof Error && typeof error.stack === 'string') error.stack = inSources(error.stack);
  });
}
