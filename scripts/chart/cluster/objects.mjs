// Defines the objects that a simulated cluster contains before a chart is installed: nodes in three zones, volumes, and
// a namespace that accepts only pods that meet Pod Security `restricted`.

const ZONES = ['a', 'b', 'c'];
const ROOM = { cpu: '32', memory: '256Gi', pods: '110' };

export const nodes = ZONES.map((zone) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `node-${zone}`,
    annotations: { 'kwok.x-k8s.io/node': 'fake' },
    labels: {
      'kubernetes.io/hostname': `node-${zone}`,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'topology.kubernetes.io/zone': zone,
    },
  },
  status: { allocatable: ROOM, capacity: ROOM },
}));

/** Returns volumes without a storage class, because this cluster has no provisioner. */
export function volumes(count) {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `volume-${i}` },
    spec: {
      capacity: { storage: '100Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: `/volumes/${i}` },
    },
  }));
}

export function namespace(name) {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** Returns a Secret with the given keys. The values do not matter, because no program runs that would read them. */
export function secret(name, ...keys) {
  const stringData = Object.fromEntries(keys.map((key) => [key, 'simulated']));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

/** Returns a pod with default settings, which does not meet Pod Security `restricted`. */
export function pod(name) {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [{ name, image: 'any:1' }] } };
}
