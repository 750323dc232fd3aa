import pino from 'pino';
import { inSources } from '../program/stack.js';

export { factsOfError, writeLastWords } from './last-words.js';

/**
 * Fields of one line. The names that every line has by itself are excluded: a line would have them twice, and readers
 * take one of the two.
 */
interface LineFields {
  readonly [name: string]: unknown;
  readonly event?: never;
  readonly level?: never;
  readonly time?: never;
  readonly hostname?: never;
  readonly service?: never;
}

/**
 * Writes structured logs: one JSON object per line, in UTC, with named fields. `event` is a stable code. About a
 * request, its id, tenant and outcome are logged, never a body or a credential.
 */
export interface Log {
  debug(event: string, fields?: LineFields): void;
  info(event: string, fields?: LineFields): void;
  warn(event: string, fields?: LineFields): void;
  error(event: string, fields?: LineFields): void;
  child(fields: Record<string, unknown>): Log;
  flush(): void;
}

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Creates a log on standard error, so that standard output contains only the output that a person asked for. `fields` are
 * in each line; `currentFields` returns those of the request in which a line is written.
 */
export function createLog(
  level: LogLevel,
  fields: Record<string, unknown> = {},
  currentFields: () => object = () => ({}),
): Log {
  const root = pino(
    {
      level,
      base: fields,
      mixin: currentFields,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: errorFields },
    },
    pino.destination({ dest: 2, sync: false, minLength: 0 }),
  );
  return wrap(root);
}

/** Returns the log fields of an error, with positions in the source files. */
function errorFields(error: Error): object {
  const fields = pino.stdSerializers.err(error);
  return typeof fields?.stack === 'string' ? { ...fields, stack: inSources(fields.stack) } : fields;
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    child: (fields) => wrap(logger.child(fields)),
    flush: () => logger.flush(),
  };
}

/** A log that discards everything, for tests. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
  flush: () => {},
};
