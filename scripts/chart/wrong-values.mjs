// Lists values that the schema must refuse although their type is right, together with a value for the same place that
// it must accept. A wrong value that passes helm would stop a process at its start, or an upgrade halfway.

const ENV = (service) => `services.${service}.env.COMMONPLACE_`;
const EMBEDDED = 'embedded.env.COMMONPLACE_';
const KEY = 'a'.repeat(64);

/** Places, each with values that are wrong there and one that is right. */
const PLACES = [
  ['profile', ['Mesh', 'cluster', ''], 'mesh'],
  ['nameOverride', ['Work', 'a b', '-a', 'a_b'], 'work'],
  ['fullnameOverride', ['a/b', 'a..b', 'b-'], 'work-b'],
  ['clusterDomain', ['', 'cluster local', '.local'], 'cluster.example'],
  [
    'publicUrl',
    [
      'work.example.com',
      'ftp://work.example.com',
      'https://',
      'https://a b',
      'https://a:99999',
      'https://u:p@a',
      'https://a/x',
    ],
    'https://work.example.com:8443/',
  ],
  ['contentUrl', ['files.example.com', 'https://a:0', 'https://a?b=c'], 'https://files.example.com'],
  ['logLevel', ['trace', 'INFO', 'silent', ''], 'warn'],
  [
    'image.registry',
    ['https://registry.example.com', 'a b', 'registry.example.com/'],
    'registry.example.com:5000/team',
  ],
  ['image.repository', ['', 'Commonplace', 'a//b', 'a:1'], 'team/commonplace'],
  ['image.tag', ['a b', '-1', 'a/b', 'v1@sha256'], 'v1.2.3-rc.1'],
  ['image.digests.gateway', ['sha256:abc', KEY, `md5:${KEY}`, `sha256:${KEY.toUpperCase()}`], `sha256:${KEY}`],
  ['image.pullPolicy', ['always', 'Sometimes'], 'Always'],
  ['secrets.existingSecret', ['My Secret', 'a_b', 'A'], 'keys'],
  ['secrets.keys.mesh', ['', 'a b', 'a/b'], 'mesh_key'],
  ['privateCA.existingSecret', ['Company CA'], 'company-ca'],
  ['privateCA.key', ['', '../ca.crt'], 'ca.crt'],
  ['mesh.tls.mode', ['on', 'tls', 'cert-manager', true], 'off'],
  ['mesh.tls.existingSecret', ['{Service}', 'a b'], 'tls-{service}'],
  ['mesh.tls.generated.days', [0, -1, 1.5, 40_000], 365],
  ['mesh.tls.certManager.duration', ['90d', '0h', '2160', '1.5h', 'h'], '2160h'],
  ['mesh.tls.certManager.renewBefore', ['0h', '30d'], '24h'],
  ['mesh.tls.certManager.issuerRef.kind', ['issuer', 'Authority'], 'ClusterIssuer'],
  [
    'mongodb.url',
    [
      'mongodb:27017',
      'postgres://db',
      'mongodb://',
      'mongodb://u:p@m',
      'mongodb://a:99999',
      'mongodb://a,,b',
      'mongodb://a b',
    ],
    'mongodb://a:27017,b:27017/?replicaSet=rs0',
  ],
  ['mongodb.key', ['', 'the url'], 'url'],
  ['nats.url', ['http://nats:4222', 'nats://', 'nats://u:p@n', 'nats:4222', 'nats://n:0'], 'tls://a:4222,b:4222'],
  ['nats.replicas', [0, 6, 1.5], 3],
  ['typesense.url', ['typesense:8108', 'http://a,b', 'http://a;http://b', 'http://k@a'], 'http://a:8108,http://b:8108'],
  ['smtp.from', ['Commonplace', 'a@', 'Commonplace <a>'], 'Commonplace <no-reply@example.com>'],
  [
    's3.url',
    ['s3://bucket', 'https://s3.example.com', 'https://s3.example.com/', 'https://h/AB', 'https://k:s@h/files'],
    'https://h:9000/files/a?region=b',
  ],
  ['s3.publicUrl', ['files.example.com/files', 'https://h/F'], 'https://files.example.com/files'],
  [
    'telemetry.otlp.url',
    ['collector:4318', 'grpc://collector:4317', 'http://u:p@collector'],
    'http://collector.monitoring:4318',
  ],
  ['telemetry.traceRatio', [-0.1, 1.1, 10], 0.5],
  ['telemetry.accessLog', [-1, 2], 0.1],
  ['telemetry.serviceMonitor.interval', ['30', '0s', '1h', 's', '-5s'], '15s'],
  ['telemetry.prometheusRule.runbooks', [''], 'https://example.com/runbooks'],
  ['embedded.resources.requests.cpu', [0, '0', '0m', '500M', '1.0001', 'one', -1], '1.5'],
  ['embedded.resources.requests.memory', ['512m', '0', '0Mi', '1 Gi', '512MB', '-1Gi', 'much'], '512Mi'],
  ['embedded.resources.limits.memory', ['3', '3g', '0Gi'], '3Gi'],
  ['embedded.resources.limits.ephemeral-storage', ['1m', '0'], '2Gi'],
  ['embedded.persistence.size', ['0', '0Gi', '20', '20m', '20GB', '20 Gi', '-1Gi'], '20Gi'],
  ['embedded.persistence.storageClass', ['Fast SSD', 'fast_ssd'], 'fast-ssd'],
  ['embedded.tmpSize', ['0', '1m', '100k'], '1Gi'],
  ['serviceDefaults.replicas', [0, -1, 1.5], 2],
  ['serviceDefaults.autoscaling.minReplicas', [0, 2.5], 2],
  ['serviceDefaults.autoscaling.maxReplicas', [0], 9],
  ['serviceDefaults.autoscaling.targetCPU', [0, 1001], 70],
  ['serviceDefaults.resources.limits.memory', ['512m', '512'], '512Mi'],
  ['serviceDefaults.persistence.size', ['0', '10m'], '10Gi'],
  ['services.gateway.tag', ['a b', ':1'], '0.2.0'],
  ['services.search.priorityClassName', ['Very High'], 'high'],
  ['service.type', ['ExternalName', 'clusterip'], 'LoadBalancer'],
  ['service.port', [0, 65_536, 80.5], 443],
  ['ingress.className', ['Nginx', 'a b'], 'nginx'],
  ['ingress.tlsSecret', ['Work TLS'], 'work-tls'],
  ['topologySpread.whenUnsatisfiable', ['Ignore', ''], 'DoNotSchedule'],
  ['migration.retries', [-1, 0.5], 0],
  ['migration.deadlineSeconds', [0, 604_801], 60],
  [
    'backup.schedule',
    ['', 'daily', '30 1 * *', '30 1 * * * *', '@sometimes', '30;1 * * *', '300 1 * * *'],
    '*/15 0-6 1,15 jan mon',
  ],
  ['backup.timeZone', ['Berlin, Germany', '+02:00'], 'Europe/Berlin'],
  ['backup.keep', [0, -1, 2.5, '14'], 30],
  [
    'backup.bucket.url',
    ['s3://backups', 'https://s3.example.com', 'https://k:s@h/backups', '/backups'],
    'https://h:9000/backups/work?region=b',
  ],
  ['backup.bucket.existingSecret', ['My Backups'], 'backups'],
  ['backup.bucket.keys.id', ['', 'a b'], 'id'],
  ['backup.persistence.size', ['0', '60', '60m', '60 Gi'], '60Gi'],
  ['backup.deadlineSeconds', [0, '2h'], 3600],
  ['backup.restore.from', ['latest', 'commonplace-2026.zip', '../other.tar', '/backup/a.tar'], 'newest'],
  ['backup.restore.sameInstallation', ['yes', 1], true],
  ['bootstrap.ownerEmail', ['owner', '@example.com', 'a b@c'], 'owner@example.com'],
  ['priorityClassName', ['Usual_One'], 'usual'],
  // These are lists and maps.
  [
    'trustedProxies',
    [['banana'], ['10.0.0.0/33'], ['10.0.0.256'], ['2001:db8::/129'], ['10.0.0.0/8,10.1.0.0/16'], ['']],
    ['10.0.0.0/8', '2001:db8::/32', '::1', 'loopback'],
  ],
  ['image.pullSecrets', [[''], ['My Secret']], ['registry']],
  [
    'networkPolicy.clients',
    [[{ ipBlock: { cidr: '10.0.0.0' } }], [{ ipBlock: { cidr: 'banana' } }], [{ ipBlock: {} }], [{}]],
    [{ ipBlock: { cidr: '10.0.0.0/8' } }],
  ],
  ['networkPolicy.mongodb.ports', [[], [0], [70_000], ['mongodb']], [27_017]],
  ['networkPolicy.internet.except', [['10.0.0.0'], ['10.0.0.0/40'], ['2001:db8::/32'], ['private']], ['10.0.0.0/8']],
  [
    'tolerations',
    [[{ operator: 'exists' }], [{ effect: 'NoRun' }], [{ tolerationSeconds: -1 }], [{ key: 'a b' }]],
    [{ operator: 'Exists' }],
  ],
  ['podLabels', [{ 'a b': 'c' }, { a: 'b c' }, { a: 'x'.repeat(64) }, { a: true }], { 'example.com/a': 'b' }],
  ['nodeSelector', [{ '/a': 'b' }, { a: '-' }], { 'kubernetes.io/arch': 'arm64' }],
  ['podAnnotations', [{ 'a b': 'c' }, { a: 1 }], { 'example.com/a': 'b c' }],
  ['affinity', [{ nodeaffinity: {} }, { podAffinity: [] }], { podAffinity: {} }],
  [
    'extraEnv',
    [
      [{ value: 'a' }],
      [{ name: 'a b' }],
      [{ name: 'COMMONPLACE_SIGN_UP', value: 'open' }],
      [{ name: 'A', value: 1 }],
      [{ name: 'A', valueFrom: { secret: 'b' } }],
    ],
    [{ name: 'TZ', value: 'UTC' }],
  ],
  [
    'extraVolumes',
    [
      [{ name: 'a', hostPath: { path: '/' } }],
      [{ name: 'data', emptyDir: {} }],
      [{ name: 'a' }],
      [{ name: 'A', emptyDir: {} }],
    ],
    [{ name: 'a', emptyDir: {} }],
  ],
  [
    'extraVolumeMounts',
    [
      [{ name: 'a', mountPath: 'a' }],
      [{ name: 'a', mountPath: '/' }],
      [{ name: 'a', mountPath: '/data' }],
      [{ name: 'a' }],
    ],
    [{ name: 'a', mountPath: '/a' }],
  ],
  [
    'extraObjects',
    [[{ kind: 'ConfigMap' }], [''], [{ apiVersion: 'v1' }]],
    [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
  ],
  [
    'extraHosts',
    [[{}], ['docs.example.com'], [{ host: 'https://docs.example.com' }], [{ host: 'a b' }], [{ host: '*docs' }]],
    [{ host: 'docs.example.com', tlsSecret: 'docs' }, { host: '*.example.org' }, { host: '*' }],
  ],
  [
    'telemetry.serviceMonitor.relabelings',
    [[{}], [{ action: 'rename' }], [{ sourceLabels: ['a-b'] }], [{ source_labels: ['a'] }], [{ modulus: 0 }]],
    [{ sourceLabels: ['__meta_kubernetes_node_name'], targetLabel: 'node' }],
  ],
  [
    'telemetry.serviceMonitor.metricRelabelings',
    [[{ regex: 1 }], [{ action: '' }]],
    [{ action: 'drop', regex: 'a_.*' }],
  ],
  [
    'serviceDefaults.autoscaling.metrics',
    [[{ type: 'Pods' }], [{ type: 'pods', pods: {} }], [{ pods: {} }], [{ type: 'Pods', pods: [] }]],
    [{ type: 'Pods', pods: { metric: { name: 'a' }, target: { type: 'AverageValue', averageValue: '5' } } }],
  ],
  [
    'serviceDefaults.autoscaling.keda.triggers',
    [
      [{ type: 'prometheus' }],
      [{ metadata: {} }],
      [{ type: 'Prometheus!', metadata: {} }],
      [{ type: 'a', metadata: { b: 1 } }],
    ],
    [{ type: 'prometheus', metadata: { query: 'a', threshold: '5' } }],
  ],
  ['networkPolicy.backup.ports', [[], [0], ['https']], [9000]],
  ['gatewayApi.parentRefs', [[{}], [{ name: 'A B' }], [{ name: 'a', port: 0 }]], [{ name: 'a' }]],
  // These are settings, according to the contract of the services.
  [`${ENV('identity')}SIGN_UP`, ['maybe', 'Open', true, 'open '], 'open'],
  [`${ENV('identity')}SESSION_DAYS`, [0, 366, '0', '366', '30d', 1.5, true, 'many'], '30'],
  [`${ENV('identity')}PASSWORD_MIN_LENGTH`, [7, 65, '7'], 12],
  [
    `${ENV('identity')}OIDC_ISSUER`,
    ['accounts.example.com', 'ldap://accounts.example.com'],
    'https://accounts.example.com',
  ],
  [`${ENV('identity')}OIDC_ISSUERS`, ['https://a', 'a|b', '{}'], 'https://a|b'],
  [`${ENV('gateway')}REQUEST_TIMEOUT_MS`, [99, 600_001, '20s', '600001', -1], 20_000],
  [
    `${ENV('gateway')}RATE_LIMITS`,
    [false, 'none', 'writes=5', 'write=0', 'write=-1', 'write=many', 'write'],
    'search=off,write=6000',
  ],
  [`${ENV('gateway')}TRUST_TRACEPARENT`, ['maybe', 2, 'y'], true],
  [`${ENV('gateway')}BODY_BYTES`, ['10MiB', 1023, '67108865'], 10_485_760],
  [`${ENV('gateway')}LIMITS_IPV6_PREFIX`, [15, 129, '/64'], 64],
  [`${ENV('gateway')}SERVICE_ADDRESSES`, ['identity', 'identity:9001'], 'identity=127.0.0.1:9001'],
  [`${ENV('gateway')}ADOPT`, ['everything', 'files;index'], 'files,index'],
  [`${ENV('gateway')}MAX_CONCURRENT`, [-1, 'none', 1_000_001], 0],
  [`${ENV('resources')}DNS_SERVERS`, ['dns.example.com', '192.0.2.300', '::1]:53'], '192.0.2.53,[2001:db8::53]:53'],
  [`${ENV('resources')}DOCUMENT_BYTES`, [1023, '5MB', 10_485_761], 2048],
  [`${ENV('search')}TYPESENSE_PREFIX`, ['Work', 'a-b', 'a'.repeat(33)], 'work2'],
  [`${ENV('search')}EMBEDDINGS`, ['on', 'openai', 'ftp://a'], 'local'],
  [`${ENV('agents')}CHAT_MODEL_URL`, ['llama:8080', 'https://', 'https://u:p@a/v1'], 'http://llama.intern:8080/v1'],
  [`${ENV('agents')}CHAT_MODELS`, ['{"id":"a"}', 'a b'], 'llama3.1:8b,qwen3'],
  [`${EMBEDDED}SIGN_UP`, ['no', false], 'closed'],
  [`${EMBEDDED}DISK_RESERVE_BYTES`, [-1, '64Mi'], 0],
];

/** Wrong values as [place, value]. Below, right values in the same form. */
export const wrongValues = PLACES.flatMap(([place, wrong]) => wrong.map((value) => [place, value]));
export const rightValues = PLACES.map(([place, , right]) => [place, right]);

/** Distributes values to rounds, each with at most one value per place. */
export function roundsOf(values) {
  const rounds = [];
  for (const [place, value] of values) {
    const round = rounds.find((one) => !one.has(place));
    if (round === undefined) rounds.push(new Map([[place, value]]));
    else round.set(place, value);
  }
  return rounds;
}

/** Returns the values of a round in the nested form of a values file. */
export function valuesOf(round) {
  const values = {};
  for (const [place, value] of round) {
    const keys = place.split('.');
    const last = keys.pop();
    let inner = values;
    for (const key of keys) inner = inner[key] ??= {};
    inner[last] = value;
  }
  return values;
}

/** Returns whether a line of helm's complaint is about a place or something inside it. */
export function isAbout(line, place) {
  const path = `/${place.replaceAll('.', '/')}`;
  return line.includes(`'${path}'`) || line.includes(`'${path}/`);
}
