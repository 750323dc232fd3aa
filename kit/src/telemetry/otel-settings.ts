/**
 * Variables of OpenTelemetry's specification that every process honours. Our own settings take precedence. Exporters
 * themselves read the other `OTEL_EXPORTER_OTLP_…` variables: headers, timeouts, compression, certificates.
 */
export interface OtelSettings {
  /** OTEL_SDK_DISABLED: nothing is collected. */
  readonly disabled: boolean;
  /** OTEL_RESOURCE_ATTRIBUTES; OTEL_SERVICE_NAME takes precedence. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Whether OTEL_EXPORTER_OTLP_ENDPOINT or that of the signal names a collector, and OTEL_…_EXPORTER does not switch it off. */
  readonly sendsTraces: boolean;
  readonly sendsMetrics: boolean;
  /** Whether OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER disables a signal that our own settings enable. */
  readonly tracesOff: boolean;
  readonly metricsOff: boolean;
  /** OTEL_EXPORTER_PROMETHEUS_HOST and _PORT, if OTEL_METRICS_EXPORTER contains `prometheus`. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  /** Share of requests to sample, from OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. */
  readonly ratio: number | undefined;
  /** Whether OTEL_PROPAGATORS has `tracecontext`, as it has by default, and `baggage`. */
  readonly tracecontext: boolean;
  readonly baggage: boolean;
  /** OTEL_BSP_… and OTEL_METRIC_EXPORT_…, in milliseconds and spans. */
  readonly limits: {
    readonly scheduleDelayMs: number | undefined;
    readonly maxQueueSize: number | undefined;
    readonly maxExportBatchSize: number | undefined;
    readonly metricIntervalMs: number | undefined;
  };
  /** Variables whose values are not supported. The specification requires a warning for each. */
  readonly ignored: readonly string[];
}

const DEFAULT_PROMETHEUS_PORT = 9464;
const PARENT_BASED = 'parentbased_';

/**
 * Reads the variables. An invalid value never prevents a start, because these variables are often set for all
 * containers of a cluster.
 */
export function readOtelSettings(env: NodeJS.ProcessEnv): OtelSettings {
  const ignored: string[] = [];
  const textOf = (name: string): string | undefined => env[name]?.trim() || undefined;
  const ignore = (name: string): undefined => {
    ignored.push(name);
    return undefined;
  };
  /** Returns the known values in a list, and reports the variable as ignored if a value is unknown. */
  const known = (name: string, values: readonly string[], fallback: readonly string[]): readonly string[] => {
    const given = textOf(name)
      ?.split(',')
      .map((one) => one.trim());
    if (given === undefined) return fallback;
    if (given.some((one) => !values.includes(one))) ignore(name);
    const kept = given.filter((one) => values.includes(one));
    return kept.length === 0 ? fallback : kept;
  };
  const number = (name: string, max = Number.MAX_SAFE_INTEGER): number | undefined => {
    const text = textOf(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    return Number.isFinite(value) && value >= 0 && value <= max ? value : ignore(name);
  };
  const isUrl = (name: string): boolean => {
    const text = textOf(name);
    if (text === undefined) return false;
    return (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) || ignore(name) !== undefined;
  };

  const traces = known('OTEL_TRACES_EXPORTER', ['otlp', 'none'], ['otlp']);
  const metrics = known('OTEL_METRICS_EXPORTER', ['otlp', 'prometheus', 'none'], ['otlp']);
  const propagators = known('OTEL_PROPAGATORS', ['tracecontext', 'baggage', 'none'], ['tracecontext', 'baggage']);
  const everywhere = isUrl('OTEL_EXPORTER_OTLP_ENDPOINT');
  const protocols = ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'];
  for (const name of [...protocols, 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL']) known(name, ['http/json'], ['http/json']);
  const settings = {
    disabled: textOf('OTEL_SDK_DISABLED')?.toLowerCase() === 'true',
    attributes: attributesOf(textOf, ignore),
    sendsTraces: (isUrl('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') || everywhere) && traces.includes('otlp'),
    sendsMetrics: (isUrl('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT') || everywhere) && metrics.includes('otlp'),
    tracesOff: !traces.includes('otlp'),
    metricsOff: !metrics.includes('otlp'),
    prometheus: metrics.includes('prometheus')
      ? {
          host: textOf('OTEL_EXPORTER_PROMETHEUS_HOST') ?? '127.0.0.1',
          port: number('OTEL_EXPORTER_PROMETHEUS_PORT', 65_535) ?? DEFAULT_PROMETHEUS_PORT,
        }
      : undefined,
    ratio: ratioOf(textOf('OTEL_TRACES_SAMPLER'), number('OTEL_TRACES_SAMPLER_ARG', 1), ignore),
    tracecontext: propagators.includes('tracecontext'),
    baggage: propagators.includes('baggage'),
    limits: {
      scheduleDelayMs: number('OTEL_BSP_SCHEDULE_DELAY'),
      maxQueueSize: number('OTEL_BSP_MAX_QUEUE_SIZE') || undefined,
      maxExportBatchSize: number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') || undefined,
      metricIntervalMs: number('OTEL_METRIC_EXPORT_INTERVAL') || undefined,
    },
  };
  return { ...settings, ignored };
}

type TextOf = (name: string) => string | undefined;
type Ignore = (name: string) => undefined;

/** Returns the attributes of the resource: `key=value,key=value`, percent-encoded. An invalid list counts as none. */
function attributesOf(textOf: TextOf, ignore: Ignore): Record<string, string> {
  const attributes: Record<string, string> = {};
  try {
    for (const pair of (textOf('OTEL_RESOURCE_ATTRIBUTES') ?? '').split(',').filter((one) => one.trim() !== '')) {
      const at = pair.indexOf('=');
      if (at < 1) throw new Error('not key=value');
      attributes[decodeURIComponent(pair.slice(0, at).trim())] = decodeURIComponent(pair.slice(at + 1).trim());
    }
  } catch {
    ignore('OTEL_RESOURCE_ATTRIBUTES');
    return nameIn({}, textOf);
  }
  return nameIn(attributes, textOf);
}

function nameIn(attributes: Record<string, string>, textOf: TextOf): Record<string, string> {
  const name = textOf('OTEL_SERVICE_NAME');
  return name === undefined ? attributes : { ...attributes, 'service.name': name };
}

/**
 * Returns the share of requests that a sampler samples. Within the mesh each process follows its caller's decision, as
 * parent-based samplers do; COMMONPLACE_TRUST_TRACEPARENT decides whether a client's decision counts.
 */
function ratioOf(sampler: string | undefined, arg: number | undefined, ignore: Ignore): number | undefined {
  const kind = sampler?.startsWith(PARENT_BASED) ? sampler.slice(PARENT_BASED.length) : sampler;
  if (kind === undefined) return undefined;
  if (kind === 'always_on') return 1;
  if (kind === 'always_off') return 0;
  if (kind === 'traceidratio') return arg ?? 1;
  return ignore('OTEL_TRACES_SAMPLER');
}
