import { componentOf, nameOf, ofKind, pods, variable, workloads } from '../objects.mjs';

const SHUT_DOWN_SECONDS = 25;
/** The only scenario whose containers are changed while they run. */
const LIVE_UPDATE = 'dev';
const HTTP = ['gateway', 'all'];
const OF_RECORDS = ['COMMONPLACE_MONGODB_URL', 'COMMONPLACE_NATS_URL'];
const BUCKET_KEYS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];

const containersOf = ({ containers, initContainers = [] }) => [...initContainers, ...containers];
const first = (objects) => workloads(objects)[0].spec.template.spec;

export const podRules = [
  {
    name: 'there are different startup, readiness and liveness probes',
    check: (objects) =>
      workloads(objects).flatMap((object) => {
        const [{ startupProbe, readinessProbe, livenessProbe }] = object.spec.template.spec.containers;
        const probes = [startupProbe, readinessProbe, livenessProbe].map((probe) => JSON.stringify(probe));
        if (probes.includes(undefined)) return [`${nameOf(object)} lacks a probe`];
        return new Set(probes).size < 3 ? [`${nameOf(object)} asks the same twice`] : [];
      }),
    broken: (objects) => {
      const [container] = first(objects).containers;
      container.livenessProbe = container.readinessProbe;
    },
  },
  {
    name: 'liveness probes only the process, services by gRPC and the HTTP API by HTTP',
    check: (objects) =>
      workloads(objects).flatMap((object) => {
        const [{ readinessProbe, livenessProbe }] = object.spec.template.spec.containers;
        const http = HTTP.includes(componentOf(object.metadata.labels));
        const right = http
          ? livenessProbe?.httpGet?.path === '/health/live' && readinessProbe?.httpGet?.path === '/health/ready'
          : livenessProbe?.grpc?.service === 'live' && readinessProbe?.grpc?.service === undefined;
        return right && (http || readinessProbe?.grpc !== undefined) ? [] : [`${nameOf(object)} is asked otherwise`];
      }),
    broken: (objects) => {
      const gateway = workloads(objects).find(({ metadata }) => HTTP.includes(componentOf(metadata.labels)));
      gateway.spec.template.spec.containers[0].livenessProbe.httpGet.path = '/health/ready';
    },
  },
  {
    name: 'processor time and memory are requested, memory is limited',
    check: (objects) =>
      pods(objects).flatMap(({ object, spec }) =>
        containersOf(spec).flatMap(({ resources }) =>
          resources?.requests?.cpu && resources.requests.memory && resources.limits?.memory
            ? []
            : [`${nameOf(object)} has no bounds`],
        ),
      ),
    broken: (objects) => {
      delete first(objects).containers[0].resources.limits;
    },
  },
  {
    name: 'temporary files have a limit',
    check: (objects) =>
      pods(objects).flatMap(({ object, spec }) =>
        spec.volumes.some(({ name, emptyDir }) => name === 'tmp' && emptyDir?.sizeLimit)
          ? []
          : [`${nameOf(object)} may fill its node`],
      ),
    broken: (objects) => {
      first(objects).volumes.find(({ name }) => name === 'tmp').emptyDir = {};
    },
  },
  {
    name: 'no pod has a token of the API server, and no access is granted there',
    check: (objects) => [
      ...pods(objects).flatMap(({ object, spec }) => {
        const account = ofKind(objects, 'ServiceAccount').find(
          ({ metadata }) => metadata.name === spec.serviceAccountName,
        );
        if (account === undefined) return [`${nameOf(object)} has no service account of its own`];
        const none = spec.automountServiceAccountToken === false && account.automountServiceAccountToken === false;
        const projected = JSON.stringify(spec.volumes ?? []).includes('serviceAccountToken');
        return none && !projected ? [] : [`${nameOf(object)} has a token`];
      }),
      ...ofKind(objects, 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding').map((object) => nameOf(object)),
    ],
    broken: (objects) => {
      first(objects).automountServiceAccountToken = true;
    },
  },
  {
    name: 'the root file system is read-only, and /tmp is a volume of the pod',
    check: (objects, { scenario }) =>
      (scenario === LIVE_UPDATE ? [] : pods(objects)).flatMap(({ object, spec }) =>
        containersOf(spec).flatMap(({ securityContext, volumeMounts = [] }) => {
          const volume = volumeMounts.find(({ mountPath }) => mountPath === '/tmp')?.name;
          const folder = spec.volumes?.find(({ name }) => name === volume)?.emptyDir !== undefined;
          return securityContext?.readOnlyRootFilesystem === true && folder
            ? []
            : [`${nameOf(object)} writes its root`];
        }),
      ),
    broken: (objects) => {
      first(objects).containers[0].securityContext.readOnlyRootFilesystem = false;
    },
  },
  {
    name: 'users are numeric and not root',
    check: (objects) =>
      pods(objects).flatMap(({ object, spec: { securityContext } }) =>
        securityContext?.runAsUser > 0 && securityContext.runAsGroup > 0 ? [] : [`${nameOf(object)} names no user`],
      ),
    broken: (objects) => {
      delete first(objects).securityContext.runAsUser;
    },
  },
  {
    name: 'variables of Services do not reach the settings',
    check: (objects) =>
      pods(objects).flatMap(({ object, spec }) => (spec.enableServiceLinks === false ? [] : [nameOf(object)])),
    broken: (objects) => {
      delete first(objects).enableServiceLinks;
    },
  },
  {
    name: 'pods have enough time to terminate',
    check: (objects) =>
      workloads(objects).flatMap((object) => {
        const { containers, terminationGracePeriodSeconds } = object.spec.template.spec;
        const pause = containers[0].lifecycle?.preStop?.sleep?.seconds;
        return pause > 0 && terminationGracePeriodSeconds >= pause + SHUT_DOWN_SECONDS ? [] : [nameOf(object)];
      }),
    broken: (objects) => {
      first(objects).terminationGracePeriodSeconds = 10;
    },
  },
  {
    name: 'pods are spread over hosts and zones',
    check: (objects) =>
      workloads(objects).flatMap((object) => {
        const { topologySpreadConstraints = [] } = object.spec.template.spec;
        const keys = topologySpreadConstraints.map(({ topologyKey }) => topologyKey).join();
        return keys === 'kubernetes.io/hostname,topology.kubernetes.io/zone' ? [] : [nameOf(object)];
      }),
    broken: (objects) => {
      first(objects).topologySpreadConstraints.pop();
    },
  },
  {
    name: 'images have a version, and the Dockerfile builds them',
    check: (objects, { facts }) =>
      pods(objects).flatMap(({ object, spec }) =>
        containersOf(spec).flatMap(({ image }) => {
          const [, service, tag] = /-([a-z]+):([^:/@]+)(?:@sha256:[0-9a-f]{64})?$/.exec(image) ?? [];
          const known = service === 'all' || Object.hasOwn(facts.services, service);
          return known && tag !== 'latest' ? [] : [`${nameOf(object)} runs ${image}`];
        }),
      ),
    broken: (objects) => {
      first(objects).containers[0].image = 'commonplace-gateway:latest';
    },
  },
  {
    name: 'no secret is in plain text',
    check: (objects, { secrets }) => [
      // Helm creates the certificates of the mesh, so their Secrets are allowed.
      ...ofKind(objects, 'Secret')
        .filter(({ type, metadata }) => type !== 'kubernetes.io/tls' || !/-mesh-(tls|ca)$/.test(metadata.name))
        .map((object) => nameOf(object)),
      ...pods(objects).flatMap((pod) =>
        [...secrets].flatMap((name) => {
          const value = variable(pod, name)?.value;
          const open = value !== undefined && (!value.includes('://') || value.includes('@'));
          return open ? [`${nameOf(pod.object)} shows ${name}`] : [];
        }),
      ),
    ],
    broken: (objects) => {
      first(objects).containers[0].env.unshift({ name: 'COMMONPLACE_MESH_KEY', value: 'a'.repeat(32) });
    },
  },
  {
    name: 'a process has the secrets that it reads, and no others',
    check: (objects, { facts }) =>
      pods(objects).flatMap(({ object, metadata, spec }) => {
        const own = facts.services[componentOf(metadata.labels)];
        if (own === undefined) return [];
        // The client of the bucket reads its keys itself. Services that store no records open neither a database nor a
        // broker.
        const more = own.secrets.includes('COMMONPLACE_S3_URL') ? BUCKET_KEYS : [];
        const read = [...own.secrets, ...more].filter((name) => own.stores || !OF_RECORDS.includes(name));
        const given = containersOf(spec).flatMap(({ env = [] }) =>
          env.filter(({ valueFrom }) => valueFrom?.secretKeyRef),
        );
        return given.filter(({ name }) => !read.includes(name)).map(({ name }) => `${nameOf(object)} has ${name}`);
      }),
    broken: (objects) => {
      const pod = pods(objects).find(({ metadata }) => componentOf(metadata.labels) === 'gateway');
      const secretKeyRef = { name: 'commonplace', key: 'secrets-key' };
      pod.spec.containers[0].env.push({ name: 'COMMONPLACE_SECRETS_KEY', valueFrom: { secretKeyRef } });
    },
  },
];
