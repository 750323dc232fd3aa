// Questions to rendered manifests that several rules ask.
import { parseAllDocuments } from 'yaml';

/** The objects of a rendered chart. */
export function parse(text) {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

export const nameOf = ({ kind, metadata }) => `${kind}/${metadata.name}`;
export const ofKind = (objects, ...kinds) => objects.filter(({ kind }) => kinds.includes(kind));
/** What serves until it is told to end. */
export const workloads = (objects) => ofKind(objects, 'Deployment', 'StatefulSet');
export const isHook = ({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined;
export const componentOf = (labels) => labels?.['app.kubernetes.io/component'];

/** Every pod that is made: of which object, with what labels, as what. */
export function pods(objects) {
  return objects.flatMap((object) => {
    if (object.kind === 'Pod') return [{ object, metadata: object.metadata, spec: object.spec }];
    const template = object.kind === 'CronJob' ? object.spec.jobTemplate.spec.template : object.spec?.template;
    return template === undefined ? [] : [{ object, metadata: template.metadata, spec: template.spec }];
  });
}

/** Whether a selector of labels chooses these. */
export function selects(selector, labels = {}) {
  return Object.entries(selector ?? {}).every(([key, value]) => labels[key] === value);
}

/** The value of a variable of a pod's first container. */
export function variable(pod, name) {
  return pod.spec.containers[0].env?.find((entry) => entry.name === name);
}
