// Provides queries on rendered manifests for several rules.
import { parseAllDocuments } from 'yaml';

/** Parses the objects of a rendered chart. */
export function parse(text) {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

export const nameOf = ({ kind, metadata }) => `${kind}/${metadata.name}`;
export const ofKind = (objects, ...kinds) => objects.filter(({ kind }) => kinds.includes(kind));
/** Returns the objects whose pods run until they are stopped. */
export const workloads = (objects) => ofKind(objects, 'Deployment', 'StatefulSet');
export const isHook = ({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined;
export const componentOf = (labels) => labels?.['app.kubernetes.io/component'];

/** Returns all pods that the objects create, each with its object, metadata and spec. */
export function pods(objects) {
  return objects.flatMap((object) => {
    if (object.kind === 'Pod') return [{ object, metadata: object.metadata, spec: object.spec }];
    const template = object.kind === 'CronJob' ? object.spec.jobTemplate.spec.template : object.spec?.template;
    return template === undefined ? [] : [{ object, metadata: template.metadata, spec: template.spec }];
  });
}

/** Returns whether a label selector matches these labels. */
export function selects(selector, labels = {}) {
  return Object.entries(selector ?? {}).every(([key, value]) => labels[key] === value);
}

/** Returns the entry of an environment variable in a pod's first container. */
export function variable(pod, name) {
  return pod.spec.containers[0].env?.find((entry) => entry.name === name);
}
