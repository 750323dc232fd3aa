// Creates the JSON Schema of the chart's values. The keys of `services` and the variables in `env` are read from the
// code, so that mistyped ones are refused. The values of these variables are restricted to those that the settings'
// parsers accept.
import { AUTHORITIES, AUTHORITY, anyCase, LOOPBACK_URL, rangePattern, urlPattern } from './patterns.mjs';

/** Variables that the chart sets itself, each from a value of its own. */
const BY_VALUES = [
  'COMMONPLACE_ACCESS_LOG',
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
const list = (items, more = {}) => ({ type: 'array', items, ...more });
const oneOf = (...values) => ({ enum: values });
const whole = (pattern) => `^(${pattern})$`;
const matching = (pattern, more = {}) => ({ type: 'string', pattern: whole(pattern), ...more });
const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 1 };
const port = { type: 'integer', minimum: 1, maximum: 65_535 };
const texts = list({ type: 'string', minLength: 1 });
/** An amount of processor time: whole cores, or thousandths of one. */
const cpu = {
  type: ['string', 'number'],
  exclusiveMinimum: 0,
  pattern: whole('[1-9][0-9]*m?|0*\\.[0-9]{0,2}[1-9]|[1-9][0-9]*\\.[0-9]{1,3}'),
};
/**
 * An amount of memory or disk space with a unit. The patterns refuse `512m`, which means half a byte, and `512`, which
 * means 512 bytes. Kubernetes checks the sum in bytes.
 */
const bytes = matching('[1-9][0-9]*(\\.[0-9]+)?([MGTP]i?|[kK]i?)');
const size = matching('[1-9][0-9]*(\\.[0-9]+)?[MGTP]i?');
const NAME = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const name = { type: 'string', pattern: `^$|${whole(NAME)}`, maxLength: 253 };
const named = { ...name, pattern: whole(NAME), minLength: 1 };
/** Key of a Secret or a ConfigMap. */
const key = matching('[-._a-zA-Z0-9]+', { maxLength: 253 });
const optional = ({ pattern, ...rest }) => ({ ...rest, pattern: `^$|${pattern}` });
const httpUrl = matching(`https?://${AUTHORITY}/?`);
/**
 * A URL without credentials. Everybody who may read the release sees its values, so a URL with a password belongs in a
 * Secret.
 */
const openUrl = (...schemes) => optional(matching(urlPattern(...schemes).replace('[^\\s]*', '[^@\\s]*')));
const serversUrl = (...schemes) =>
  optional(matching(`(${schemes.join('|').replaceAll('+', '\\+')})://${AUTHORITIES}(/[^@\\s]*)?`));
/** A bucket in the form that the setting's parser accepts: host, bucket, prefix and region. */
const bucketUrl = optional(matching(`https?://${AUTHORITY}/[a-z0-9][a-z0-9.-]{2,62}(/[^@?#\\s]*)?(\\?[^@#\\s]*)?`));
const ADDRESS = '[^@\\s]+@[^@\\s]+';
const duration = (units) => matching(`[1-9][0-9]*(${units})`);
/** Matches keys of labels and annotations, which Kubernetes limits to these characters. */
const LABEL_KEY = `^(${NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`;
const keyed = (values) => ({ type: 'object', patternProperties: { [LABEL_KEY]: values }, additionalProperties: false });
const map = keyed({ type: 'string' });
const labels = keyed({ type: 'string', pattern: '^$|^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$', maxLength: 63 });

const resources = object({
  requests: object({ cpu, memory: bytes, 'ephemeral-storage': bytes }),
  limits: object({ cpu, memory: bytes, 'ephemeral-storage': bytes }),
});
const persistence = { size, storageClass: name };
const labelSelector = object({
  matchLabels: labels,
  matchExpressions: list({
    ...object({
      key: matching(LABEL_KEY.slice(1, -1)),
      operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'),
      values: texts,
    }),
    required: ['key', 'operator'],
  }),
});
const tolerations = list(
  object({
    key: optional(matching(LABEL_KEY.slice(1, -1))),
    operator: oneOf('Exists', 'Equal'),
    value: text,
    effect: oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    tolerationSeconds: { type: 'integer', minimum: 0 },
  }),
);
const placement = { podAnnotations: map, nodeSelector: labels, tolerations, priorityClassName: name };
/** The affinity of pods. The schema knows its three parts; Kubernetes checks the rest. */
const affinity = object({
  nodeAffinity: { type: 'object' },
  podAffinity: { type: 'object' },
  podAntiAffinity: { type: 'object' },
});
const autoscaling = object({
  enabled: flag,
  minReplicas: count,
  maxReplicas: count,
  targetCPU: { ...count, maximum: 1000 },
  metrics: list({
    ...object({
      type: oneOf('ContainerResource', 'External', 'Object', 'Pods', 'Resource'),
      ...Object.fromEntries(
        ['containerResource', 'external', 'object', 'pods', 'resource'].map((kind) => [kind, { type: 'object' }]),
      ),
    }),
    required: ['type'],
    minProperties: 2,
    maxProperties: 2,
  }),
  keda: object({
    enabled: flag,
    triggers: list({
      ...object({
        type: matching('[a-z0-9]([-a-z0-9]*[a-z0-9])?'),
        name: text,
        metricType: oneOf('AverageValue', 'Value', 'Utilization'),
        metadata: { type: 'object', additionalProperties: text },
        authenticationRef: { ...object({ name: named, kind: text }), required: ['name'] },
        useCachedMetrics: flag,
      }),
      required: ['type', 'metadata'],
    }),
  }),
});
/** Relabelings as the Prometheus operator defines them. */
const relabelings = list({
  ...object({
    action: {
      ...text,
      pattern: whole(
        'replace|keep|drop|hashmod|labelmap|labeldrop|labelkeep|lowercase|uppercase|keepequal|dropequal'
          .split('|')
          .map(anyCase)
          .join('|'),
      ),
    },
    sourceLabels: list(matching('[a-zA-Z_][a-zA-Z0-9_]*')),
    separator: text,
    targetLabel: text,
    regex: text,
    modulus: count,
    replacement: text,
  }),
  minProperties: 1,
});
/** Matches a field of a schedule: minute, hour, day of the month, month or day of the week. */
const CRON_FIELD = '(\\*|[0-9]{1,2}|[A-Za-z]{3})(-([0-9]{1,2}|[A-Za-z]{3}))?(/[1-9][0-9]?)?';
const schedule = matching(
  `${CRON_FIELD}(,${CRON_FIELD})*( ${CRON_FIELD}(,${CRON_FIELD})*){4}|@(yearly|annually|monthly|weekly|daily|midnight|hourly)`,
);
const workload = {
  replicas: count,
  autoscaling,
  resources,
  persistence: object({ ...persistence, keep: flag }),
  tmpSize: size,
};

/** Kinds of volumes that Pod Security `restricted` allows. */
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
/** Names of volumes that the chart itself defines. */
const OWN_VOLUMES = ['tmp', 'data', 'tls', 'private-ca', 'backup'];
const absolutePath = matching('/[^:\\s]*');
const extras = {
  extraEnv: list({
    ...object({
      // Settings have their own values: `env`, and `envFromSecret` for secret ones.
      name: matching('[A-Za-z_][A-Za-z0-9_]*', { not: { pattern: '^COMMONPLACE_' } }),
      value: text,
      valueFrom: object({
        secretKeyRef: { ...object({ name: named, key, optional: flag }), required: ['name', 'key'] },
        configMapKeyRef: { ...object({ name: named, key, optional: flag }), required: ['name', 'key'] },
        fieldRef: { ...object({ apiVersion: text, fieldPath: { ...text, minLength: 1 } }), required: ['fieldPath'] },
        resourceFieldRef: { type: 'object' },
      }),
    }),
    required: ['name'],
  }),
  extraVolumes: list({
    ...object({
      name: { ...named, not: { enum: OWN_VOLUMES } },
      ...Object.fromEntries(VOLUMES.map((kind) => [kind, { type: 'object' }])),
    }),
    required: ['name'],
    minProperties: 2,
    maxProperties: 2,
  }),
  extraVolumeMounts: list({
    ...object({
      name: { ...named, not: { enum: OWN_VOLUMES } },
      mountPath: { ...absolutePath, not: { enum: ['/', '/app', '/data', '/tmp', '/tls', '/private-ca', '/backup'] } },
      subPath: text,
      readOnly: flag,
    }),
    required: ['name', 'mountPath'],
  }),
};

/**
 * Returns the schema of a variable. It accepts what all parsers that read the variable accept. An empty value stands
 * for the default.
 */
function variable(shapes = []) {
  const schemas = shapes.map(ofShape);
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [only = { type: ['string', 'number', 'boolean'] }] = distinct;
  return distinct.length < 2 ? only : { type: 'string', ...only, allOf: distinct.slice(1) };
}

function ofShape(shape) {
  switch (shape.kind) {
    case 'integer':
      return {
        type: ['string', 'integer'],
        minimum: shape.min,
        maximum: shape.max,
        pattern: `^$|${whole(rangePattern(shape.min, shape.max))}`,
      };
    case 'flag': {
      const words = ['1', 'true', 'yes', 'on', '0', 'false', 'no', 'off'].map(anyCase).join('|');
      return { type: ['string', 'boolean', 'integer'], minimum: 0, maximum: 1, pattern: `^$|${whole(words)}` };
    }
    case 'choice':
      return { type: 'string', enum: ['', ...shape.choices] };
    case 'url':
      return url(shape);
    default:
      return shape.pattern === undefined
        ? { type: ['string', 'number'] }
        : { type: 'string', pattern: `^$|${whole(shape.pattern)}` };
  }
}

function url({ schemes, words = [], plainOnLoopback = false }) {
  const { pattern } = openUrl(...(plainOnLoopback ? schemes.filter((one) => one !== 'http') : schemes));
  const more = [...words.map(whole), ...(plainOnLoopback ? [whole(LOOPBACK_URL)] : [])];
  return { type: 'string', pattern: [pattern, ...more].join('|') };
}

function env(settings, shapes) {
  const free = settings.filter((one) => !BY_VALUES.includes(one));
  return object(Object.fromEntries(free.map((one) => [one, variable(shapes.get(one))])));
}

function service({ settings }, shapes) {
  return object({
    ...workload,
    tag,
    env: env(settings, shapes),
    envFromSecret: name,
    ...placement,
    affinity,
    ...extras,
  });
}

/** A tag of an image. */
const tag = optional(matching('[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}'));
const REPOSITORY = '[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*';

/**
 * Returns the schema for the facts that `readFacts` returns. `shapes` contains what the parsers of each process accept,
 * by variable. `patterns` contains the patterns of addresses.
 */
export function schemaOf({ services, embedded }, shapes, patterns) {
  const network = matching(patterns.CIDR_PATTERN);
  const peers = list({
    ...object({
      podSelector: labelSelector,
      namespaceSelector: labelSelector,
      ipBlock: { ...object({ cidr: network, except: list(network) }), required: ['cidr'] },
    }),
    minProperties: 1,
  });
  const outside = object({ ports: { ...list(port), minItems: 1 }, to: peers });
  const secretKey = { existingSecret: name, key };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Values of the Commonplace chart',
    ...object({
      profile: oneOf('embedded', 'mesh'),
      nameOverride: name,
      fullnameOverride: name,
      clusterDomain: named,
      publicUrl: httpUrl,
      contentUrl: optional(httpUrl),
      allowHttp: flag,
      trustedProxies: list(matching(`loopback|linklocal|uniquelocal|${patterns.NETWORK_PATTERN}`)),
      logLevel: oneOf('debug', 'info', 'warn', 'error'),
      stopped: flag,
      liveUpdate: flag,
      image: object({
        registry: optional(matching(`${AUTHORITY}(/${REPOSITORY})*`)),
        repository: matching(`${REPOSITORY}(/${REPOSITORY})*`),
        tag,
        digests: object(
          Object.fromEntries(
            ['all', ...Object.keys(services)].map((one) => [one, optional(matching('sha256:[0-9a-f]{64}'))]),
          ),
        ),
        pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
        pullSecrets: list(named),
      }),
      secrets: object({
        existingSecret: name,
        keys: object({ mesh: key, identity: key, encryption: key, owner: optional(key) }),
      }),
      privateCA: object({ existingSecret: name, existingConfigMap: name, key }),
      serviceAccount: object({ annotations: map }),
      mesh: object({
        tls: object({
          // YAML 1.1 parses `off` without quotes as false.
          mode: oneOf('generated', 'certManager', 'existingSecret', 'off', false),
          existingSecret: { type: 'string', pattern: '^([a-z0-9{]([-.a-z0-9{}]*[a-z0-9}])?)?$', maxLength: 253 },
          name: { type: 'string', pattern: '^$|^[a-z0-9{*]([-.a-z0-9{}]*[a-z0-9}])?$' },
          switch: flag,
          generated: object({ days: { ...count, maximum: 36_500 } }),
          certManager: object({
            issuerRef: object({ name, kind: oneOf('Issuer', 'ClusterIssuer'), group: name }),
            duration: duration('h'),
            renewBefore: duration('h'),
          }),
        }),
      }),
      mongodb: object({ url: serversUrl('mongodb', 'mongodb+srv'), ...secretKey }),
      nats: object({ replicas: { ...count, maximum: 5 }, url: serversUrl('nats', 'tls'), ...secretKey }),
      typesense: object({
        url: optional(matching(`https?://${AUTHORITY}/?(,https?://${AUTHORITY}/?)*`)),
        ...secretKey,
      }),
      smtp: object({ ...secretKey, from: optional(matching(`[^<>@]*<${ADDRESS}>|${ADDRESS}`)) }),
      s3: object({
        url: bucketUrl,
        publicUrl: bucketUrl,
        existingSecret: name,
        keys: object({ id: key, secret: key }),
      }),
      telemetry: object({
        otlp: object({ url: openUrl('http', 'https'), ...secretKey }),
        traceRatio: { type: 'number', minimum: 0, maximum: 1 },
        accessLog: { type: 'number', minimum: 0, maximum: 1 },
        metrics: object({ enabled: flag, clients: peers }),
        serviceMonitor: object({
          enabled: flag,
          labels,
          interval: duration('ms|s|m'),
          relabelings,
          metricRelabelings: relabelings,
        }),
        prometheusRule: object({ enabled: flag, labels, runbooks: { type: 'string', minLength: 1 } }),
        dashboards: object({ enabled: flag, labels }),
      }),
      embedded: object({
        env: env(embedded.settings, shapes.get('all')),
        envFromSecret: name,
        resources,
        persistence: object({ ...persistence, existingClaim: name }),
        tmpSize: size,
      }),
      serviceDefaults: object(workload),
      services: object(
        Object.fromEntries(Object.entries(services).map(([one, facts]) => [one, service(facts, shapes.get(one))])),
      ),
      service: object({ type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'), port, annotations: map }),
      extraHosts: list({
        ...object({ host: matching(`\\*|(\\*\\.)?${NAME}`, { maxLength: 253 }), tlsSecret: name }),
        required: ['host'],
      }),
      ingress: object({ enabled: flag, className: name, annotations: map, tlsSecret: name }),
      gatewayApi: object({
        enabled: flag,
        annotations: map,
        parentRefs: list({
          ...object({ name: named, namespace: name, sectionName: name, port }),
          required: ['name'],
        }),
      }),
      networkPolicy: object({
        enabled: flag,
        clients: peers,
        dns: object({ to: peers }),
        mongodb: outside,
        nats: outside,
        typesense: outside,
        smtp: outside,
        otlp: outside,
        s3: outside,
        backup: outside,
        internet: object({
          ports: { ...list(port), minItems: 1 },
          except: list(matching(`${patterns.IPV4_PATTERN}/(3[0-2]|[12]?[0-9])`)),
          to: peers,
        }),
      }),
      podDisruptionBudget: object({ enabled: flag }),
      topologySpread: object({ whenUnsatisfiable: oneOf('ScheduleAnyway', 'DoNotSchedule') }),
      migration: object({
        enabled: flag,
        retries: { type: 'integer', minimum: 0, maximum: 100 },
        deadlineSeconds: { ...count, maximum: 7 * 86_400 },
        resources,
      }),
      backup: object({
        enabled: flag,
        schedule,
        timeZone: optional(matching('[A-Za-z]+([-+_/A-Za-z0-9])*')),
        keep: { ...count, maximum: 10_000 },
        bucket: object({ url: bucketUrl, existingSecret: name, keys: object({ id: key, secret: key }) }),
        persistence: object({ ...persistence, existingClaim: name }),
        deadlineSeconds: { ...count, maximum: 7 * 86_400 },
        resources,
        restore: object({ from: optional(matching('newest|[a-z0-9.-]+\\.tar')), sameInstallation: flag }),
      }),
      bootstrap: object({ enabled: flag, ownerEmail: matching(ADDRESS) }),
      test: object(secretKey),
      podLabels: labels,
      podAnnotations: map,
      nodeSelector: labels,
      tolerations,
      affinity,
      priorityClassName: name,
      ...extras,
      extraObjects: list({
        type: ['object', 'string'],
        required: ['apiVersion', 'kind', 'metadata'],
        minProperties: 3,
        minLength: 1,
      }),
      // Helm passes these values to a chart that is a dependency of another chart.
      global: { type: 'object' },
    }),
  };
}
