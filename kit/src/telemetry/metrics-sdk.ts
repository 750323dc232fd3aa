import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HrTime, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  type MetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { listenOn } from '../network/listen.js';
import { type Gathered, gather, type HistogramPoint, type InstrumentSpec, type NumberPoint } from './instruments.js';
import { OPEN_METRICS, openMetricsOf, plainMetricsOf, type WithExemplars } from './open-metrics.js';
import { resourceOf } from './resource.js';
import type { TelemetryOptions } from './start.js';
import { exporterOptions, pageOf, sendsMetrics } from './targets.js';

/** Milliseconds between exports, and timeout of one export in milliseconds. */
const [EXPORT_EVERY_MS, EXPORT_MS] = [30_000, 5000];
/** Timeout in milliseconds of a process's last export. */
const LAST_MS = 2000;

interface Metrics {
  readonly port: number | undefined;
  readonly provider: MeterProvider;
  close(): Promise<void>;
}

/** Opens the metric readers that the settings require: an OTLP export, a page for Prometheus. */
export async function openMetrics(options: TelemetryOptions): Promise<Metrics> {
  const { otel } = options;
  const resource = resourceOf(options);
  const readers: MetricReader[] = [];
  if (sendsMetrics(options)) {
    readers.push(
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(exporterOptions(options, 'metrics', EXPORT_MS)),
        exportIntervalMillis: otel.limits.metricIntervalMs ?? EXPORT_EVERY_MS,
        exportTimeoutMillis: Math.min(EXPORT_MS, otel.limits.metricIntervalMs ?? EXPORT_MS),
        metricProducers: [producerOf(resource)],
      }),
    );
  }
  const page = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    metricProducers: [producerOf(resource, nameWithUnit)],
  });
  const place = pageOf(options);
  if (place !== undefined) readers.push(page);
  const provider = new MeterProvider({ resource, readers });
  const server = place === undefined ? undefined : await listen(page, place.host, place.port);
  return {
    port: server && (server.address() as AddressInfo).port,
    provider,
    close: async () => {
      server?.closeAllConnections();
      server?.close();
      await provider.shutdown({ timeoutMillis: LAST_MS }).catch(() => {});
    },
  };
}

/** Serves only metrics, on a separate port: clients of the API must not see them. */
async function listen(page: PrometheusExporter, host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') response.writeHead(404).end();
    else void answer(page, request.headers.accept?.includes(OPEN_METRICS) ?? false, response);
  });
  server.unref();
  await listenOn(server, host, port);
  return server;
}

async function answer(page: PrometheusExporter, isOpen: boolean, response: ServerResponse): Promise<void> {
  try {
    const { resourceMetrics } = await page.collect();
    const text = await (isOpen ? openMetricsOf : plainMetricsOf)(resourceMetrics);
    const type = isOpen ? `${OPEN_METRICS}; version=1.0.0; charset=utf-8` : 'text/plain';
    response.writeHead(200, { 'content-type': type }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}

const UNITS: Readonly<Record<string, string>> = { s: '.seconds', By: '.bytes', '1': '.ratio' };

/**
 * Returns the name of a metric by OpenTelemetry's rules for Prometheus, so that it is the same as through a collector.
 */
function nameWithUnit({ name, unit }: InstrumentSpec): string {
  return name + (UNITS[unit] ?? '');
}

function producerOf(
  resource: ReturnType<typeof resourceOf>,
  nameOf: (spec: InstrumentSpec) => string = ({ name }) => name,
): MetricProducer {
  const startTime = hrTime();
  return {
    async collect() {
      const gathered = await gather();
      const endTime = hrTime();
      const metrics = gathered.map((one) => metricOf(one, nameOf(one.spec), startTime, endTime));
      const scopeMetrics = [{ scope: { name: 'commonplace' }, metrics }];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
}

/** Converts collected values to the form of the SDK. */
function metricOf(one: Gathered, name: string, startTime: HrTime, endTime: HrTime): MetricData {
  const { kind, spec } = one;
  const about = {
    descriptor: { ...spec, name, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const at = { startTime, endTime };
  if (kind === 'histogram') {
    const dataPoints = one.points.map((point) => ({ ...at, attributes: point.attributes, value: histogramOf(point) }));
    return { ...about, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = one.points.map(({ attributes, value }: NumberPoint) => ({ ...at, attributes, value }));
  return kind === 'counter'
    ? { ...about, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...about, dataPointType: DataPointType.GAUGE, dataPoints };
}

function histogramOf({ bounds, counts, count, sum, exemplars }: HistogramPoint): WithExemplars {
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count, exemplars };
}

function hrTime(): HrTime {
  const now = Date.now();
  return [Math.floor(now / 1000), (now % 1000) * 1e6];
}
