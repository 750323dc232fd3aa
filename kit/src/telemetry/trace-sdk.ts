import { SpanKind as Kind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, RandomIdGenerator, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../log/index.js';
import { type Origin, RecordedSpan } from './recorded-span.js';
import { resourceOf } from './resource.js';
import type { TelemetryOptions } from './start.js';
import { exporterOptions, ratioOf } from './targets.js';
import type { SpanKind, Tracer } from './trace.js';

/** Maximum number of spans that wait for export, and in one export; further spans are dropped. */
const [MAX_QUEUED_SPANS, MAX_BATCH_SPANS] = [2048, 512];
/** Milliseconds between exports, timeout of one export, and timeout of a process's last export. */
const [EXPORT_EVERY_MS, EXPORT_MS, LAST_MS] = [2000, 5000, 3000];
/** First and maximum pause in milliseconds without new traces after a failed export; it is doubled each time. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [5000, 120_000];

const KINDS: Readonly<Record<SpanKind, Kind>> = {
  internal: Kind.INTERNAL,
  server: Kind.SERVER,
  client: Kind.CLIENT,
  producer: Kind.PRODUCER,
  consumer: Kind.CONSUMER,
};

/** Opens tracing, which sends spans to a collector. Whether a request is sampled is decided before its first span. */
export function openTracing(options: TelemetryOptions): { readonly tracer: Tracer; close(): Promise<void> } {
  const { log } = options;
  const { limits } = options.otel;
  const traceRatio = ratioOf(options);
  const health = createHealth(log);
  const exporter = new OTLPTraceExporter({ ...exporterOptions(options, 'traces', EXPORT_MS), concurrencyLimit: 2 });
  const maxQueueSize = limits.maxQueueSize ?? MAX_QUEUED_SPANS;
  const processor = new BatchSpanProcessor({
    exporter: health.watch(exporter),
    maxQueueSize,
    maxExportBatchSize: Math.min(maxQueueSize, limits.maxExportBatchSize ?? MAX_BATCH_SPANS),
    scheduledDelayMillis: limits.scheduleDelayMs ?? EXPORT_EVERY_MS,
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
      start: (name, kind, attributes, parent, links) =>
        new RecordedSpan(origin, name, KINDS[kind], attributes, parent, links),
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

/**
 * Tracks whether the collector accepts exports. While it does not, no traces are started, except one now and then as a
 * probe.
 */
function createHealth(log: Log) {
  let restMs = 0;
  let restUntil = 0;
  return {
    isWell: () => restMs === 0 || Date.now() >= restUntil,
    watch: (exporter: SpanExporter): SpanExporter => ({
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          // OpenTelemetry uses 0 for success.
          const failed = result.code !== 0;
          if (failed && restMs === 0) log.warn('telemetry.export_failed', { error: result.error });
          if (!failed && restMs > 0) log.info('telemetry.export_succeeded');
          restMs = failed ? Math.min(Math.max(restMs * 2, MIN_PAUSE_MS), MAX_PAUSE_MS) : 0;
          restUntil = Date.now() + restMs;
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    }),
  };
}
