import pino from 'pino';
import { inSources } from '../program/stack.js';
import { currentSpan } from '../telemetry/trace.js';

/**
 * Structured logs: one JSON object a line, UTC, fields by name. `event` is a stable code; what is
 * logged about a request is its request id, tenant and outcome, never a body or a credential.
 */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  child(fields: Record<string, unknown>): Log;
  flush(): void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Logs to standard error, so that standard output stays for what a person asked for. */
export function createLog(level: LogLevel, fields: Record<string, unknown> = {}): Log {
  const root = pino(
    {
      level,
      base: fields,
      mixin: traceOf,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: told },
    },
    pino.destination({ dest: 2, sync: false, minLength: 0 }),
  );
  return wrap(root);
}

/** An error as it is logged: with places in the sources. */
function told(error: Error): object {
  const fields = pino.stdSerializers.err(error);
  return typeof fields?.stack === 'string' ? { ...fields, stack: inSources(fields.stack) } : fields;
}

/** Where a line belongs, if its request is traced. */
function traceOf(): object {
  const span = currentSpan();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
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

/** A log that says nothing; for tests. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
  flush: () => {},
};
