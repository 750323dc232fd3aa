import { componentOf, isHook, nameOf, ofKind, pods, selects, variable, workloads } from '../objects.mjs';

const named = (objects, kind, name) => ofKind(objects, kind).find(({ metadata }) => metadata.name === name);
const deployments = (objects) => ofKind(objects, 'Deployment');
const scalerOf = (objects, { metadata }) =>
  ofKind(objects, 'HorizontalPodAutoscaler', 'ScaledObject').find(
    ({ spec }) => spec.scaleTargetRef.name === metadata.name,
  );
const claimOf = ({ spec }) =>
  spec.template.spec.volumes?.find(({ persistentVolumeClaim }) => persistentVolumeClaim)?.persistentVolumeClaim
    .claimName;

/** Returns whether an object is the Service of all pods with metrics. */
const isForMetrics = ({ kind, metadata }) => kind === 'Service' && componentOf(metadata.labels) === 'metrics';

/** The only scenario that leaves the migration to the operator. */
const UNMIGRATED = 'mesh-unmigrated';
const WEIGHT = 'helm.sh/hook-weight';
const migrationOf = (objects) =>
  ofKind(objects, 'Job').find(({ metadata }) => componentOf(metadata.labels) === 'migration');

function migratesFirst(object) {
  const { initContainers = [], containers } = object.spec.template.spec;
  // Data restored from a backup may have another version too, so the restore comes before the migration.
  const last = initContainers.at(-1);
  const right =
    last?.args.join(' ') === 'commonplace.mjs migrate --new' &&
    last.image === containers[0].image &&
    last.volumeMounts.some(({ mountPath }) => mountPath === '/data');
  return right ? [] : [`${nameOf(object)} starts on what another version has stored`];
}

/** Checks that the migration job is a hook, and that the objects that its pod needs are hooks that run before it. */
function migrationFaults(objects) {
  const job = migrationOf(objects);
  if (job === undefined) return ['there is no job'];
  const { serviceAccountName, containers } = job.spec.template.spec;
  const needs = [
    named(objects, 'ServiceAccount', serviceAccountName),
    ...ofKind(objects, 'NetworkPolicy').filter(({ metadata }) => componentOf(metadata.labels) === 'migration'),
  ];
  const early = [...needs, job].every(
    (object) => object.metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade',
  );
  const ordered = needs.every(
    ({ metadata }) => Number(metadata.annotations?.[WEIGHT]) < Number(job.metadata.annotations[WEIGHT]),
  );
  const bounded = job.spec.activeDeadlineSeconds > 0 && containers[0].args.join(' ') === 'commonplace.mjs migrate';
  return early && ordered && bounded ? [] : [`${nameOf(job)} comes too late, or without what it needs`];
}

/** The only scenario in which nothing runs. */
const STOPPED = 'ha-stopped';

export const wiringRules = [
  {
    name: 'each workload has one disruption budget, which allows one pod to be evicted',
    check: (objects) => {
      const budgets = ofKind(objects, 'PodDisruptionBudget');
      if (budgets.length === 0) return [];
      return workloads(objects).flatMap((object) => {
        const own = budgets.filter(({ spec }) =>
          selects(spec.selector.matchLabels, object.spec.template.metadata.labels),
        );
        return own.length === 1 && own[0].spec.maxUnavailable === 1 ? [] : [`${nameOf(object)} has ${own.length}`];
      });
    },
    broken: (objects) => {
      ofKind(objects, 'PodDisruptionBudget')[0].spec.selector.matchLabels['app.kubernetes.io/component'] = 'nobody';
    },
  },
  {
    name: 'selectors choose the pods of one workload',
    check: (objects) =>
      [...ofKind(objects, 'Service', 'PodDisruptionBudget'), ...workloads(objects)].flatMap((object) => {
        if (isForMetrics(object)) return [];
        const selector = object.spec.selector.matchLabels ?? object.spec.selector;
        const chosen = pods(objects).filter(({ metadata }) => selects(selector, metadata.labels));
        return chosen.length === 1 ? [] : [`${nameOf(object)} chooses ${chosen.length}`];
      }),
    broken: (objects) => {
      delete ofKind(objects, 'Service')[0].spec.selector['app.kubernetes.io/component'];
    },
  },
  {
    name: 'Services lead to existing ports',
    check: (objects) =>
      ofKind(objects, 'Service').flatMap((service) => {
        const chosen = pods(objects).filter(({ metadata }) => selects(service.spec.selector, metadata.labels));
        const ports = chosen.flatMap(({ spec }) => spec.containers[0].ports?.map(({ name }) => name) ?? []);
        return service.spec.ports.every(({ targetPort }) => ports.includes(targetPort)) ? [] : [nameOf(service)];
      }),
    broken: (objects) => {
      ofKind(objects, 'Service')[0].spec.ports[0].targetPort = 'metrics';
    },
  },
  {
    name: 'each called service has a headless Service under the address that its callers use',
    check: (objects, { facts }) =>
      pods(objects).flatMap((pod) => {
        const address = variable(pod, 'COMMONPLACE_SERVICE_ADDRESS')?.value;
        const caller = componentOf(pod.metadata.labels);
        const calls = caller === 'bootstrap' ? facts.bootstrap.calls : (facts.services[caller]?.calls ?? []);
        return calls.flatMap((owner) => {
          const [, host, port] = /^dns:\/\/\/([^.]+)\.[^:]+:(\d+)$/.exec(address?.replace('{service}', owner)) ?? [];
          const service = named(objects, 'Service', host);
          const right = service?.spec.clusterIP === 'None' && service.spec.ports[0].port === Number(port);
          return right && componentOf(service.spec.selector) === owner
            ? []
            : [`${nameOf(pod.object)} can't find ${owner}`];
        });
      }),
    broken: (objects) => {
      delete ofKind(objects, 'Service').find(({ spec }) => spec.clusterIP === 'None').spec.clusterIP;
    },
  },
  {
    name: 'with TLS every process of the mesh has a certificate of a Secret, and probes use a port without TLS',
    check: (objects, { facts }) => {
      const inMesh = pods(objects).filter(({ metadata }) => {
        const component = componentOf(metadata.labels);
        return component === 'bootstrap' || facts.services[component] !== undefined;
      });
      const shown = (pod) => variable(pod, 'COMMONPLACE_TLS_CERT') !== undefined;
      if (!inMesh.some(shown)) return [];
      return inMesh.flatMap((pod) => {
        const [{ readinessProbe, ports = [] }] = pod.spec.containers;
        const mounted = pod.spec.volumes.some(({ name, secret }) => name === 'tls' && secret?.secretName);
        const grpc = readinessProbe?.grpc?.port;
        const asked =
          grpc === undefined || ports.some(({ name, containerPort }) => name === 'health' && containerPort === grpc);
        return shown(pod) && mounted && asked ? [] : [`${nameOf(pod.object)} has no certificate, or is probed by TLS`];
      });
    },
    broken: (objects) => {
      const pod = pods(objects).find((one) => variable(one, 'COMMONPLACE_TLS_CERT') !== undefined);
      pod.spec.volumes = pod.spec.volumes.filter(({ name }) => name !== 'tls');
    },
  },
  {
    name: 'an Ingress or HTTPRoute leads to the HTTP API',
    check: (objects) =>
      ofKind(objects, 'Ingress', 'HTTPRoute').flatMap((object) => {
        const backends =
          object.kind === 'Ingress'
            ? object.spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service))
            : object.spec.rules.flatMap(({ backendRefs }) => backendRefs);
        return backends.flatMap(({ name, port }) => {
          const service = named(objects, 'Service', name);
          const found = service?.spec.ports.some((one) => one.port === port || one.name === port?.name);
          return found && !service.spec.clusterIP ? [] : [nameOf(object)];
        });
      }),
    broken: (objects) => {
      ofKind(objects, 'Ingress')[0].spec.rules[0].http.paths[0].backend.service.name = 'nobody';
    },
  },
  {
    name: 'replicas are set once: by the workload or by its autoscaler',
    check: (objects, { scenario }) =>
      workloads(objects).flatMap((object) => {
        const scaler = scalerOf(objects, object);
        const least = scenario === STOPPED ? 0 : 1;
        const right = (scaler === undefined) === object.spec.replicas >= least;
        const { minReplicas, maxReplicas, minReplicaCount, maxReplicaCount } = scaler?.spec ?? {};
        const bounds = scaler === undefined || (minReplicas ?? minReplicaCount) <= (maxReplicas ?? maxReplicaCount);
        return right && bounds ? [] : [nameOf(object)];
      }),
    broken: (objects) => {
      deployments(objects).find((object) => scalerOf(objects, object)).spec.replicas = 3;
    },
  },
  {
    name: 'a volume has one writer, and everything else is replaced without a gap',
    check: (objects) =>
      deployments(objects).flatMap((object) => {
        const { replicas, strategy } = object.spec;
        const claim = claimOf(object);
        if (claim !== undefined) {
          const there = named(objects, 'PersistentVolumeClaim', claim) !== undefined;
          return there && replicas === 1 && strategy.type === 'Recreate' ? [] : [nameOf(object)];
        }
        return strategy.rollingUpdate?.maxUnavailable === 0 ? [] : [nameOf(object)];
      }),
    broken: (objects) => {
      deployments(objects).find(claimOf).spec.strategy = { type: 'RollingUpdate' };
    },
  },
  {
    name: 'names and labels are no longer than Kubernetes allows',
    check: (objects) =>
      objects.flatMap((object) =>
        [object.metadata.name, ...Object.values(object.metadata.labels ?? {})].every((text) => text.length <= 63)
          ? []
          : [nameOf(object)],
      ),
    broken: (objects) => {
      objects[0].metadata.name = 'a'.repeat(64);
    },
  },
  {
    name: 'everything is in the namespace of the release',
    check: (objects, { namespace }) =>
      objects.flatMap((object) => (object.metadata.namespace === namespace ? [] : [nameOf(object)])),
    broken: (objects) => {
      delete objects[0].metadata.namespace;
    },
  },
  {
    name: 'stored data is migrated before anything of the release changes, by its own version',
    check: (objects, { scenario }) => {
      if (scenario === UNMIGRATED) return [];
      const embedded = ofKind(objects, 'StatefulSet');
      return embedded.length > 0 ? embedded.flatMap(migratesFirst) : migrationFaults(objects);
    },
    broken: (objects) => {
      named(objects, 'ServiceAccount', migrationOf(objects).metadata.name).metadata.annotations[WEIGHT] = '5';
    },
  },
  {
    name: 'one test, by a pod that talks to the HTTP API',
    check: (objects) => {
      const tests = pods(objects).filter(({ object }) => isHook(object) && object.kind === 'Pod');
      const url = tests.length === 1 ? variable(tests[0], 'COMMONPLACE_URL')?.value : undefined;
      if (url === undefined) return [`there are ${tests.length}`];
      const { hostname, port } = new URL(url);
      const service = named(objects, 'Service', hostname.split('.')[0]);
      return service?.spec.ports.some((one) => one.port === Number(port || 80)) ? [] : [`${url} leads nowhere`];
    },
    broken: (objects) => {
      const test = pods(objects).find(({ object }) => isHook(object) && object.kind === 'Pod');
      variable(test, 'COMMONPLACE_URL').value = 'http://elsewhere';
    },
  },
  {
    name: 'every process accepts its settings',
    check: (objects, { complaints }) =>
      pods(objects).flatMap((pod) => complaints(pod).map((problem) => `${nameOf(pod.object)}: ${problem}`)),
    broken: (objects) => {
      variable(pods(objects)[0], 'COMMONPLACE_LOG_LEVEL').value = 'loud';
    },
  },
];
