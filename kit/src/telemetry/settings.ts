import { defineSettings, integer, text, url } from '../config/index.js';

/** Telemetry settings of every process. */
export const telemetrySettings = defineSettings({
  otlpUrl: {
    common: 'OpenTelemetry collector',
    help: 'OpenTelemetry collector that traces and metrics are sent to, by OTLP over HTTP: http://collector:4318',
    parse: collectorUrl,
    connects: true,
    fallback: undefined as string | undefined,
  },
  otlpHeaders: {
    help: 'headers that the collector asks for: name=value,name=value',
    parse: headers,
    fallback: undefined as Readonly<Record<string, string>> | undefined,
    secret: true,
  },
  traceRatio: {
    help: 'share of requests that are traced, 0 to 1; 0.1 unless OTEL_TRACES_SAMPLER says otherwise; a traceparent decides only where COMMONPLACE_TRUST_TRACEPARENT says so',
    parse: ratio,
    fallback: undefined as number | undefined,
  },
  metricsHost: { help: 'address that metrics are read from', parse: text, fallback: '127.0.0.1' },
  metricsPort: {
    common: 'port of /metrics',
    help: 'port on which Prometheus reads /metrics; none without it',
    parse: integer(0, 65535),
    fallback: undefined as number | undefined,
  },
});

const httpUrl = url('http', 'https');

function collectorUrl(value: string): string {
  const { username, password } = new URL(httpUrl(value));
  if (username !== '' || password !== '')
    throw new Error('must not contain credentials: put them into COMMONPLACE_OTLP_HEADERS');
  return httpUrl(value);
}

function ratio(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0 && number <= 1)) throw new Error('must be a number from 0 to 1');
  return number;
}

function headers(value: string): Readonly<Record<string, string>> {
  const pairs = value.split(',').map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new Error('must be a list of name=value');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}
