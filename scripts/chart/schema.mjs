// The schema of the chart's values. What there is in `services`, and which variables an `env` may set, is told by the
// code, so that a mistyped one is refused.

/** Variables that the chart sets itself, each by a value of its own. */
const BY_VALUES = [
  'COMMONPLACE_CONTENT_URL',
  'COMMONPLACE_DATA_DIR',
  'COMMONPLACE_GRPC_PORT',
  'COMMONPLACE_HEALTH_PORT',
  'COMMONPLACE_HOST',
  'COMMONPLACE_INSECURE_HTTP',
  'COMMONPLACE_LOG_LEVEL',
  'COMMONPLACE_METRICS_HOST',
  'COMMONPLACE_METRICS_PORT',
  'COMMONPLACE_NATS_REPLICAS',
  'COMMONPLACE_OTLP_URL',
  'COMMONPLACE_PORT',
  'COMMONPLACE_PUBLIC_URL',
  'COMMONPLACE_SERVICE_ADDRESS',
  'COMMONPLACE_TLS_CA',
  'COMMONPLACE_TLS_CERT',
  'COMMONPLACE_TLS_KEY',
  'COMMONPLACE_TLS_NAME',
  'COMMONPLACE_TRACE_RATIO',
  'COMMONPLACE_TRUSTED_PROXIES',
  'COMMONPLACE_TYPESENSE_URL',
];

const object = (properties) => ({ type: 'object', additionalProperties: false, properties });
const list = (items) => ({ type: 'array', items });
const oneOf = (...values) => ({ enum: values });
const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 1 };
const port = { type: 'integer', minimum: 1, maximum: 65_535 };
const texts = list({ type: 'string', minLength: 1 });
/** Free keys, as Kubernetes has them in labels and annotations. */
const map = { type: 'object', additionalProperties: { type: 'string' } };
const quantity = { type: ['string', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' };
const name = { type: 'string', pattern: '^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$', maxLength: 253 };
const httpUrl = { type: 'string', pattern: '^https?://[^/@\\s]+/?$' };
const optional = ({ pattern, ...rest }) => ({ ...rest, pattern: `^$|${pattern}` });
/** A URL in values is seen by all who may read the release: one with a password belongs into a Secret. */
const openUrl = (schemes) => ({ type: 'string', pattern: `^$|^(${schemes})://[^/@\\s]+(/[^@\\s]*)?$` });

const resources = object({
  requests: object({ cpu: quantity, memory: quantity }),
  limits: object({ cpu: quantity, memory: quantity, 'ephemeral-storage': quantity }),
});
const persistence = { size: quantity, storageClass: name };
const labelSelector = object({
  matchLabels: map,
  matchExpressions: list(
    object({ key: text, operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'), values: texts }),
  ),
});
const peers = list(
  object({
    podSelector: labelSelector,
    namespaceSelector: labelSelector,
    ipBlock: object({ cidr: text, except: texts }),
  }),
);
const tolerations = list(
  object({
    key: text,
    operator: oneOf('Exists', 'Equal'),
    value: text,
    effect: oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    tolerationSeconds: { type: 'integer' },
  }),
);
const outside = object({ ports: { ...list(port), minItems: 1 }, to: peers });
const placement = { podAnnotations: map, nodeSelector: map, tolerations, priorityClassName: name };
const workload = {
  replicas: count,
  autoscaling: object({ enabled: flag, minReplicas: count, maxReplicas: count, targetCPU: count }),
  resources,
  persistence: object({ ...persistence, keep: flag }),
};

function env(settings) {
  const free = settings.filter((variable) => !BY_VALUES.includes(variable));
  return object(Object.fromEntries(free.map((variable) => [variable, { type: ['string', 'number', 'boolean'] }])));
}

function service({ settings }) {
  return object({ ...workload, tag: text, env: env(settings), envFromSecret: name, ...placement });
}

/** Takes what `readFacts` gives. */
export function schemaOf({ services, embedded }) {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Values of the Commonplace chart',
    ...object({
      profile: oneOf('embedded', 'mesh'),
      nameOverride: name,
      fullnameOverride: name,
      clusterDomain: { ...name, minLength: 1 },
      publicUrl: httpUrl,
      contentUrl: optional(httpUrl),
      allowHttp: flag,
      trustedProxies: texts,
      logLevel: oneOf('debug', 'info', 'warn', 'error'),
      liveUpdate: flag,
      image: object({
        registry: text,
        repository: { type: 'string', minLength: 1 },
        tag: text,
        pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
        pullSecrets: list({ ...name, minLength: 1 }),
      }),
      secrets: object({ existingSecret: name, keys: object({ mesh: text, identity: text, encryption: text }) }),
      mesh: object({
        tls: object({
          existingSecret: { type: 'string', pattern: '^([a-z0-9{]([-.a-z0-9{}]*[a-z0-9}])?)?$', maxLength: 253 },
          name: { type: 'string', pattern: '^$|^[a-z0-9{*]([-.a-z0-9{}]*[a-z0-9}])?$' },
        }),
      }),
      mongodb: object({ url: openUrl('mongodb|mongodb\\+srv'), existingSecret: name, key: text }),
      nats: object({ replicas: { ...count, maximum: 5 }, url: openUrl('nats|tls'), existingSecret: name, key: text }),
      typesense: object({
        url: { type: 'string', pattern: '^$|^https?://[^/@,\\s]+(,https?://[^/@,\\s]+)*$' },
        existingSecret: name,
        key: text,
      }),
      s3: object({
        url: openUrl('https?'),
        publicUrl: openUrl('https?'),
        existingSecret: name,
        keys: object({ id: text, secret: text }),
      }),
      telemetry: object({
        otlp: object({ url: openUrl('https?'), existingSecret: name, key: text }),
        traceRatio: { type: 'number', minimum: 0, maximum: 1 },
        metrics: object({ enabled: flag, clients: peers }),
        serviceMonitor: object({
          enabled: flag,
          labels: map,
          interval: { type: 'string', pattern: '^[0-9]+(ms|s|m)$' },
        }),
        prometheusRule: object({ enabled: flag, labels: map, runbooks: { type: 'string', minLength: 1 } }),
        dashboards: object({ enabled: flag, labels: map }),
      }),
      embedded: object({
        env: env(embedded.settings),
        envFromSecret: name,
        resources,
        persistence: object({ ...persistence, existingClaim: name }),
      }),
      serviceDefaults: object(workload),
      services: object(Object.fromEntries(Object.entries(services).map(([key, facts]) => [key, service(facts)]))),
      service: object({ type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'), port, annotations: map }),
      ingress: object({ enabled: flag, className: name, annotations: map, tlsSecret: name }),
      gatewayApi: object({
        enabled: flag,
        annotations: map,
        parentRefs: list({ ...object({ name, namespace: name, sectionName: name, port }), required: ['name'] }),
      }),
      networkPolicy: object({
        enabled: flag,
        clients: peers,
        dns: object({ to: peers }),
        mongodb: outside,
        nats: outside,
        typesense: outside,
        otlp: outside,
        s3: outside,
        internet: object({ ports: { ...list(port), minItems: 1 }, except: texts, to: peers }),
      }),
      podDisruptionBudget: object({ enabled: flag }),
      topologySpread: object({ whenUnsatisfiable: oneOf('ScheduleAnyway', 'DoNotSchedule') }),
      migration: object({
        enabled: flag,
        retries: { type: 'integer', minimum: 0 },
        deadlineSeconds: count,
        resources,
      }),
      bootstrap: object({ enabled: flag, ownerEmail: { type: 'string', pattern: '^[^@\\s]+@[^@\\s]+$' } }),
      test: object({ existingSecret: name, key: text }),
      podLabels: map,
      podAnnotations: map,
      nodeSelector: map,
      tolerations,
      priorityClassName: name,
      // Helm gives these to a chart that is a dependency of another.
      global: { type: 'object' },
    }),
  };
}
