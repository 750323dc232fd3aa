import { componentOf, nameOf, ofKind, pods, selects } from '../objects.mjs';

const GRPC = 9090;
const HTTP = 8080;
const METRICS = 9464;
const policies = (objects) => ofKind(objects, 'NetworkPolicy');
const isMesh = (objects) => ofKind(objects, 'Deployment').length > 0;
const front = (objects) => (isMesh(objects) ? 'gateway' : 'all');

/** Returns the calls between pods of the release that the code makes, as `from -> to:port`. */
function expected(objects, { facts }) {
  const present = new Set(pods(objects).map(({ metadata }) => componentOf(metadata.labels)));
  const calls = isMesh(objects)
    ? [...Object.entries(facts.services), ['bootstrap', facts.bootstrap]].flatMap(([from, { calls: all }]) =>
        present.has(from) ? all.map((to) => `${from} -> ${to}:${GRPC}`) : [],
      )
    : [];
  return [...calls, `test -> ${front(objects)}:${HTTP}`].sort();
}

/**
 * Returns the connections that the policies allow according to one side (`ingress` or `egress`), as `from -> to:port`.
 */
function allowed(objects, side) {
  return policies(objects)
    .flatMap(({ spec }) => {
      const own = componentOf(spec.podSelector.matchLabels);
      return (spec[side] ?? []).flatMap((rule) =>
        (rule[side === 'egress' ? 'to' : 'from'] ?? []).flatMap(({ podSelector, namespaceSelector }) => {
          const other = componentOf(podSelector?.matchLabels);
          if (other === undefined || namespaceSelector !== undefined) return [];
          const [from, to] = side === 'egress' ? [own, other] : [other, own];
          return (rule.ports ?? [{ port: 'any' }]).map(({ port }) => `${from} -> ${to}:${port}`);
        }),
      );
    })
    .sort();
}

function differences(what, found, right) {
  return [
    ...found.filter((edge) => !right.includes(edge)).map((edge) => `${what} allows ${edge}, which the code does not`),
    ...right.filter((edge) => !found.includes(edge)).map((edge) => `${what} denies ${edge}, which the code does`),
  ];
}

/**
 * Returns whether the ports are exactly that of metrics, which Prometheus scrapes. The values name who else may
 * connect.
 */
const isMetrics = (ports) => ports?.length === 1 && ports[0].port === METRICS;

/** Wraps a check so that it passes for scenarios without policies. */
const withPolicies = (check) => (objects, context) => (policies(objects).length === 0 ? [] : check(objects, context));
const policyOf = (objects, component) =>
  policies(objects).find(({ spec }) => componentOf(spec.podSelector.matchLabels) === component);

export const networkRules = [
  {
    name: 'every pod is denied all traffic that no policy allows',
    check: withPolicies((objects) => {
      const deny = policies(objects).find(({ spec }) => spec.ingress === undefined && spec.egress === undefined);
      const both = deny?.spec.policyTypes.join() === 'Ingress,Egress';
      return pods(objects)
        .filter(({ metadata }) => !both || !selects(deny.spec.podSelector.matchLabels, metadata.labels))
        .map(({ object }) => nameOf(object));
    }),
    broken: (objects) => {
      policies(objects).find(({ spec }) => spec.egress === undefined).spec.egress = [{}];
    },
  },
  {
    name: 'pods may call exactly what the code calls',
    check: withPolicies((objects, context) =>
      differences('egress', allowed(objects, 'egress'), expected(objects, context)),
    ),
    broken: (objects) => {
      const [rule] = policyOf(objects, 'gateway').spec.egress.filter(({ ports }) => ports[0].port === GRPC);
      rule.to.pop();
    },
  },
  {
    name: 'pods accept calls exactly from their callers in the code',
    check: withPolicies((objects, context) =>
      differences(
        'ingress',
        allowed(objects, 'ingress').filter(isOurs(objects)),
        expected(objects, context).filter(isOurs(objects)),
      ),
    ),
    broken: (objects) => {
      const [{ from }] = policyOf(objects, 'search').spec.ingress;
      from.push({ podSelector: structuredClone(policyOf(objects, 'messaging').spec.podSelector) });
    },
  },
  {
    name: 'only the HTTP API is open to others, on one port',
    check: withPolicies((objects) =>
      policies(objects).flatMap((policy) =>
        (policy.spec.ingress ?? []).flatMap(({ from, ports }) => {
          if (isMetrics(ports)) return [];
          const isFront = componentOf(policy.spec.podSelector.matchLabels) === front(objects);
          const right = ports?.length === 1 && ports[0].port === (isFront ? HTTP : GRPC);
          const closed = from?.length > 0 && from.every(({ podSelector }) => componentOf(podSelector?.matchLabels));
          return right && (isFront || closed) ? [] : [`${nameOf(policy)} is open`];
        }),
      ),
    ),
    broken: (objects) => {
      delete policyOf(objects, 'identity').spec.ingress[0].from;
    },
  },
  {
    name: 'metrics can be read only from pods that have some',
    check: withPolicies((objects) =>
      pods(objects).flatMap(({ object, metadata, spec }) => {
        const has = spec.containers[0].ports?.some(({ name }) => name === 'metrics') === true;
        const rules = policyOf(objects, componentOf(metadata.labels))?.spec.ingress ?? [];
        return has === rules.some(({ ports }) => isMetrics(ports)) ? [] : [nameOf(object)];
      }),
    ),
    broken: (objects) => {
      policyOf(objects, 'search').spec.ingress.push({ ports: [{ port: METRICS }] });
    },
  },
  {
    name: 'only services that call hosts of users reach the internet, without private networks',
    check: withPolicies((objects, { facts }) =>
      policies(objects).flatMap((policy) => {
        const component = componentOf(policy.spec.podSelector.matchLabels);
        const block = (policy.spec.egress ?? [])
          .flatMap(({ to = [] }) => to)
          .find(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0')?.ipBlock;
        const calls = component === 'all' || facts.services[component]?.internet === true;
        if (calls !== (block !== undefined))
          return [`${nameOf(policy)}: ${calls ? 'can not' : 'can'} reach the internet`];
        const closed = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'];
        return block === undefined || closed.every((net) => block.except?.includes(net)) ? [] : [nameOf(policy)];
      }),
    ),
    broken: (objects) => {
      const { egress } = policyOf(objects, 'identity').spec;
      policyOf(objects, 'messaging').spec.egress.push(egress.at(-1));
    },
  },
  {
    name: 'services with records reach the servers of records and events',
    check: withPolicies((objects, { facts }) =>
      Object.entries(isMesh(objects) ? facts.services : {}).flatMap(([name, { stores }]) => {
        const policy = policyOf(objects, name);
        const ports = (policy?.spec.egress ?? []).flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []);
        return stores === (ports.includes(27_017) && ports.includes(4222)) ? [] : [nameOf(policy)];
      }),
    ),
    broken: (objects) => {
      policyOf(objects, 'gateway').spec.egress.push({ ports: [{ port: 27_017 }, { port: 4222 }] });
    },
  },
  {
    name: 'the migration reaches the records, and nothing else',
    check: withPolicies((objects) => {
      const policy = policyOf(objects, 'migration');
      if (policy === undefined) return [];
      const { ingress, egress = [] } = policy.spec;
      const [names, records, ...more] = egress.map(({ ports }) => ports.map(({ port }) => port));
      const right = ingress === undefined && names?.join() === '53,53' && records?.includes(27_017) && !more.length;
      return right ? [] : [nameOf(policy)];
    }),
    broken: (objects) => {
      policyOf(objects, 'migration').spec.egress.push({ ports: [{ port: 4222 }] });
    },
  },
];

/**
 * Returns a filter that drops connections to the HTTP API if it is open to everybody, as in most scenarios, because the
 * policy then names no clients.
 */
function isOurs(objects) {
  const open = policyOf(objects, front(objects))?.spec.ingress?.[0].from === undefined;
  return (edge) => !open || !edge.endsWith(`:${HTTP}`);
}
