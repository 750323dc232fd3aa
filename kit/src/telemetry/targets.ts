// Where signals go: by settings of our own, else by the variables of OpenTelemetry.
import type { TelemetryOptions } from './start.js';

type Options = Pick<TelemetryOptions, 'otlpUrl' | 'otlpHeaders' | 'metricsHost' | 'metricsPort' | 'otel'>;

/** Share of requests that are traced where no setting says so. */
const DEFAULT_RATIO = 0.1;

export function sendsTraces({ otlpUrl, otel }: Options): boolean {
  return otlpUrl === undefined ? otel.sendsTraces : !otel.tracesOff;
}

export function sendsMetrics({ otlpUrl, otel }: Options): boolean {
  return otlpUrl === undefined ? otel.sendsMetrics : !otel.metricsOff;
}

/** Returns where the page for Prometheus is; undefined if there is none. */
export function pageOf({ metricsHost, metricsPort, otel }: Options) {
  return metricsPort === undefined ? otel.prometheus : { host: metricsHost, port: metricsPort };
}

/** Returns the share of requests that are traced. */
export function ratioOf({ traceRatio, otel }: Pick<TelemetryOptions, 'traceRatio' | 'otel'>): number {
  return traceRatio ?? otel.ratio ?? DEFAULT_RATIO;
}

/** Returns the options of an exporter: what they leave out it reads from the variables of OpenTelemetry itself. */
export function exporterOptions({ otlpUrl, otlpHeaders }: Options, signal: 'traces' | 'metrics', timeoutMs: number) {
  return {
    ...(otlpUrl === undefined ? {} : { url: `${otlpUrl}/v1/${signal}`, timeoutMillis: timeoutMs }),
    ...(otlpHeaders === undefined ? {} : { headers: { ...otlpHeaders } }),
  };
}
