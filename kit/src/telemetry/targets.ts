// Determines where signals are sent: our own settings take precedence over OpenTelemetry's variables.
import type { TelemetryOptions } from './start.js';

type Options = Pick<TelemetryOptions, 'otlpUrl' | 'otlpHeaders' | 'metricsHost' | 'metricsPort' | 'otel'>;

/** Default share of requests that are traced. */
const DEFAULT_RATIO = 0.1;

export function sendsTraces({ otlpUrl, otel }: Options): boolean {
  return otlpUrl === undefined ? otel.sendsTraces : !otel.tracesOff;
}

export function sendsMetrics({ otlpUrl, otel }: Options): boolean {
  return otlpUrl === undefined ? otel.sendsMetrics : !otel.metricsOff;
}

/** Returns the address of the page for Prometheus; undefined if there is none. */
export function pageOf({ metricsHost, metricsPort, otel }: Options) {
  return metricsPort === undefined ? otel.prometheus : { host: metricsHost, port: metricsPort };
}

/** Returns the share of requests that are traced. */
export function ratioOf({ traceRatio, otel }: Pick<TelemetryOptions, 'traceRatio' | 'otel'>): number {
  return traceRatio ?? otel.ratio ?? DEFAULT_RATIO;
}

/** Returns the options of an exporter. The exporter reads missing options from OpenTelemetry's variables. */
export function exporterOptions({ otlpUrl, otlpHeaders }: Options, signal: 'traces' | 'metrics', timeoutMs: number) {
  return {
    ...(otlpUrl === undefined ? {} : { url: `${otlpUrl}/v1/${signal}`, timeoutMillis: timeoutMs }),
    ...(otlpHeaders === undefined ? {} : { headers: { ...otlpHeaders } }),
  };
}
