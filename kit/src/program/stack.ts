import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A place in a file, as stack traces name it. */
const PLACE = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g;

interface Origins {
  readonly url: string;
  readonly map: SourceMap;
}

const known = new Map<string, Origins | undefined>();

/**
 * A stack trace with the sources' own places where a map lies beside a file, as it does in the bundle. Node's own
 * `--enable-source-maps` does so each time that anybody reads `stack`, and libraries do when nothing is wrong: the maps
 * of a program, which take longer to read than its code to load, are read here for what is written down alone.
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
    // There is none: what is told is where the error is in the file itself.
    return undefined;
  }
}

/** Lets the error that ends this process tell of the sources. */
export function endInSources(): void {
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    if (error instanceof Error && typeof error.stack === 'string') error.stack = inSources(error.stack);
  });
}
