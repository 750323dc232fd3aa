import { SpanKind as Kind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, RandomIdGenerator, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../log/index.js';
import { type Origin, RecordedSpan } from './recorded-span.js';
import { resourceOf } from './resource.js';
import type { TelemetryOptions } from './start.js';
import type { SpanKind, Tracer } from './trace.js';

/** Spans that wait for their export at the most, and that go in one; what comes on top of it is dropped. */
const [MOST_WAITING, MOST_TOGETHER] = [2048, 512];
/** Milliseconds between exports, what one may take, and what the last of a process may. */
const [EXPORT_EVERY_MS, EXPORT_MS, LAST_MS] = [2000, 5000, 3000];
/** Milliseconds without new traces after an export that failed, doubled each time. */
const [FIRST_REST_MS, MOST_REST_MS] = [5000, 120_000];

const KINDS: Readonly<Record<SpanKind, Kind>> = {
  internal: Kind.INTERNAL,
  server: Kind.SERVER,
  client: Kind.CLIENT,
  producer: Kind.PRODUCER,
  consumer: Kind.CONSUMER,
};

/** Sends spans to a collector. Whether a request is sampled was decided before the first of its spans. */
export function openTracing(
  otlpUrl: string,
  options: TelemetryOptions,
): { readonly tracer: Tracer; close(): Promise<void> } {
  const { traceRatio, otlpHeaders, log } = options;
  const health = createHealth(log);
  const exporter = new OTLPTraceExporter({
    url: `${otlpUrl}/v1/traces`,
    headers: { ...otlpHeaders },
    timeoutMillis: EXPORT_MS,
    concurrencyLimit: 2,
  });
  const processor = new BatchSpanProcessor({
    exporter: health.watch(exporter),
    maxQueueSize: MOST_WAITING,
    maxExportBatchSize: MOST_TOGETHER,
    scheduledDelayMillis: EXPORT_EVERY_MS,
    exportTimeoutMillis: EXPORT_MS,
  });
  const origin: Origin = {
    resource: resourceOf(options),
    instrumentationScope: { name: 'commonplace', version: options.version },
    ids: new RandomIdGenerator(),
    processor,
  };
  return {
    tracer: {
      samples: () => Math.random() < traceRatio && health.isWell(),
      start: (name, kind, attributes, parent) => new RecordedSpan(origin, name, KINDS[kind], attributes, parent),
    },
    close: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_MS);
      });
      await Promise.race([processor.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}

/** Whether the collector takes what it is sent: while it does not, no trace is begun but some now and then to see. */
function createHealth(log: Log) {
  let restMs = 0;
  let restUntil = 0;
  return {
    isWell: () => restMs === 0 || Date.now() >= restUntil,
    watch: (exporter: SpanExporter): SpanExporter => ({
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          // 0 is what OpenTelemetry calls a success.
          const failed = result.code !== 0;
          if (failed && restMs === 0) log.warn('telemetry.export_failed', { error: result.error });
          if (!failed && restMs > 0) log.info('telemetry.export_succeeded');
          restMs = failed ? Math.min(Math.max(restMs * 2, FIRST_REST_MS), MOST_REST_MS) : 0;
          restUntil = Date.now() + restMs;
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    }),
  };
}
