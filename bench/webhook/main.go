// The webhooks of pod.rs on controller-runtime: what `bench/run webhook` compares with.
//
// It serves /mutate--v1-pod and /validate--v1-pod with the certificate in the folder of the first argument, at the port of the second.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const label = "bench.example.com/seen"

type podWebhook struct{}

func (podWebhook) Default(_ context.Context, pod *corev1.Pod) error {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[label] = "true"
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].ImagePullPolicy == "" {
			pod.Spec.Containers[i].ImagePullPolicy = corev1.PullAlways
		}
	}
	return nil
}

func (podWebhook) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	for _, container := range pod.Spec.Containers {
		if strings.HasSuffix(container.Image, ":latest") {
			return nil, fmt.Errorf("container %s: name a version of the image", container.Name)
		}
	}
	return nil, nil
}

func (w podWebhook) ValidateUpdate(ctx context.Context, _, pod *corev1.Pod) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, pod)
}

func (podWebhook) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, nil
}

func main() {
	log.SetLogger(zap.New())
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err)
	}
	// It sends no requests to the API server.
	manager, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: "127.0.0.1", Port: port, CertDir: os.Args[1],
		}),
	})
	if err != nil {
		panic(err)
	}
	err = ctrl.NewWebhookManagedBy(manager, &corev1.Pod{}).
		WithDefaulter(podWebhook{}).
		WithValidator(podWebhook{}).
		Complete()
	if err != nil {
		panic(err)
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}
